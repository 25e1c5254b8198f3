import { type OpenRecord } from '../../../../shared/kafka/port';
import { randomOf } from '../../../../tools/harness/random';
import { ModelBrokers } from '../group/model-brokers';
import { modelConsumer, worldOf } from '../group/model-consumer';
import { VirtualTime } from '../group/virtual-time';

/** A member whose session has ended joins anew. */

let time: VirtualTime;
beforeEach(() => {
  time = new VirtualTime();
  time.install();
});
afterEach(() => VirtualTime.uninstall());

test('it commits nothing of its last session before it has its new assignment', async () => {
  const world = worldOf(time, randomOf(1), { partitions: 1, records: 3 });
  const brokers = new ModelBrokers(world, { dead: false, awayUntil: 0, unheardUntil: 0 });
  const open: OpenRecord[] = [];
  const consumption = modelConsumer(brokers, {
    topics: ['t'],
    onRecord: (record) => {
      open.push(record);
      return 'accepted';
    },
  });
  void consumption.start();
  await time.run(60_000, () => open.length === 3);
  await time.run(time.now + 1_000, () => false);
  // The coordinator ends the session, and keeps the answer with the next assignment back.
  const { sync } = brokers.group;
  let deliver: (() => void) | undefined;
  brokers.group.sync = async (...input) => {
    const answer = await sync(...input);
    await new Promise<void>((resolve) => (deliver = resolve));
    return answer;
  };
  world.coordinator.leave(brokers.memberId);
  await time.run(time.now + 10_000, () => deliver !== undefined);
  const ofAnother = { offset: '2', metadata: '' };
  world.coordinator.committed.set('t/0', ofAnother);
  open[0]!.done();
  await time.run(time.now + 2_000, () => false);
  expect([deliver !== undefined, world.coordinator.committed.get('t/0')]).toEqual([
    true,
    ofAnother,
  ]);
});
