import { randomOf } from '../../../../tools/harness/random';
import { startMember, worldOf } from '../group/model-consumer';
import { inVirtualTime } from '../group/virtual-time';

/** A member whose session has ended joins anew. */

const time = inVirtualTime();

test('it commits nothing of its last session before it has its new assignment', async () => {
  const world = worldOf(time, randomOf(1), { partitions: 1, records: 3 });
  const { brokers, open } = startMember(world);
  await time.run(60_000, () => open.length === 3);
  await time.pass(1_000);
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
  const ofAnother = { offset: 2, metadata: '' };
  world.coordinator.committed.set('t/0', ofAnother);
  open[0]!.done();
  await time.pass(2_000);
  expect([deliver !== undefined, world.coordinator.committed.get('t/0')]).toEqual([
    true,
    ofAnother,
  ]);
});
