import { decodeNote } from '../../../../shared/kafka/consumer/commit-note';
import { PollLiveness } from '../../../../shared/runtime/health';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { logThrottle } from '../../../../shared/runtime/load-limits';
import { randomOf } from '../../../../tools/harness/random';
import { ModelBrokers } from '../group/model-brokers';
import { modelConsumer, worldOf } from '../group/model-consumer';
import { VirtualTime } from '../group/virtual-time';

/** The consumer and its helpers while the clock of the machine is set. */

const HOUR_MS = 3_600_000;
const JUMPS = [
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
] as const;

let time: VirtualTime;
beforeEach(() => {
  time = new VirtualTime();
  time.install();
});
afterEach(() => VirtualTime.uninstall());

const pass = (ms: number) => time.run(time.now + ms, () => false);

/**
 * Starts the consumer of a partition with three records. @returns its records, which are open, and
 * its commits
 */
async function consume() {
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
  const committed = () => world.coordinator.committed.get('t/0')!;
  const runs = () => decodeNote(Number(committed().offset), committed().metadata).runs;
  return { world, consumption, open, runs };
}

test.each(JUMPS)(
  'after the clock was set %s, records done above an open one are still committed',
  async (_, byMs) => {
    const { consumption, open, runs } = await consume();
    open[1]!.done();
    await pass(1_000);
    expect(runs()).toEqual([1, 1]);
    time.clockSetMs = byMs;
    open[2]!.done();
    await pass(1_000);
    expect(runs()).toEqual([1, 2]);
    await time.run(time.now + 10_000, ended(consumption.stop(0)));
  },
);

test.each(JUMPS)(
  'a member keeps its session while it is idle after the clock was set %s',
  async (_, byMs) => {
    const { world, consumption, open } = await consume();
    for (const record of open) record.done();
    await pass(1_000);
    const { generation } = world.coordinator;
    time.clockSetMs = byMs;
    await pass(120_000);
    expect([world.coordinator.members.length, world.coordinator.generation]).toEqual([
      1,
      generation,
    ]);
    await time.run(time.now + 10_000, ended(consumption.stop(0)));
  },
);

test.each(JUMPS)(
  'a consumer that stops waits no longer than its deadline after the clock was set %s',
  async (_, byMs) => {
    const { consumption } = await consume();
    const stoppedAt = time.now;
    const isOver = ended(consumption.stop(2_000));
    time.clockSetMs = byMs;
    await time.run(stoppedAt + 1_500, isOver);
    expect(isOver()).toBe(false);
    await time.run(stoppedAt + 3_000, isOver);
    expect(isOver()).toBe(true);
  },
);

/** @returns whether the work has ended */
function ended(work: Promise<unknown>): () => boolean {
  let over = false;
  void work.then(() => (over = true));
  return () => over;
}

test.each(JUMPS)('a consumer loop is not stuck because the clock was set %s', async (_, byMs) => {
  const loop = new PollLiveness();
  await pass(1_000);
  time.clockSetMs = byMs;
  expect([loop.pollAgeMs, loop.stuck()]).toEqual([1_000, undefined]);
});

test.each(JUMPS)(
  'an event is logged once an interval although the clock was set %s',
  async (_, byMs) => {
    const mayLog = logThrottle(60_000, 10);
    expect(mayLog('event')).toBe(true);
    time.clockSetMs = byMs;
    expect(mayLog('event')).toBe(false);
    await pass(60_000);
    expect(mayLog('event')).toBe(true);
  },
);
