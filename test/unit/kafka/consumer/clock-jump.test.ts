import { decodeNote } from '../../../../shared/kafka/consumer/commit-note';
import { PollLiveness } from '../../../../shared/runtime/health';
import { logThrottle } from '../../../../shared/runtime/load-limits';
import { randomOf } from '../../../../tools/harness/random';
import { startMember, worldOf } from '../group/model-consumer';
import { ended, inVirtualTime } from '../group/virtual-time';

/** The consumer and its helpers while the clock of the machine is set. */

const HOUR_MS = 3_600_000;
const JUMPS = [
  ['forward', HOUR_MS],
  ['back', -HOUR_MS],
] as const;

const time = inVirtualTime();

/**
 * Starts the consumer of a partition with three records. @returns its records, which are open, and
 * its commits
 */
async function consume() {
  const world = worldOf(time, randomOf(1), { partitions: 1, records: 3 });
  const { consumption, open } = startMember(world);
  await time.run(60_000, () => open.length === 3);
  const committed = () => world.coordinator.committed.get('t/0')!;
  const runs = () => decodeNote(committed().offset, committed().metadata).runs;
  return { world, consumption, open, runs };
}

test.each(JUMPS)(
  'after the clock was set %s, records done above an open one are still committed',
  async (_, byMs) => {
    const { consumption, open, runs } = await consume();
    open[1]!.done();
    await time.pass(1_000);
    expect(runs()).toEqual([1, 1]);
    time.clockSetMs = byMs;
    open[2]!.done();
    await time.pass(1_000);
    expect(runs()).toEqual([1, 2]);
    await time.run(time.now + 10_000, ended(consumption.stop(0)));
  },
);

test.each(JUMPS)(
  'a member keeps its session while it is idle after the clock was set %s',
  async (_, byMs) => {
    const { world, consumption, open } = await consume();
    for (const record of open) record.done();
    await time.pass(1_000);
    const { generation } = world.coordinator;
    time.clockSetMs = byMs;
    await time.pass(120_000);
    expect([world.coordinator.members.length, world.coordinator.generation]).toEqual([
      1,
      generation,
    ]);
    await time.run(time.now + 10_000, ended(consumption.stop(0)));
  },
);

test('idle members whose clock was set back keep partitions and read what comes once', async () => {
  const world = worldOf(time, randomOf(2), { partitions: 4, records: 0 });
  const members = [startMember(world), startMember(world)];
  await time.pass(30_000);
  const { generation } = world.coordinator;
  expect(world.coordinator.members).toHaveLength(2);
  time.clockSetMs = -70_000;
  // Longer than a session.
  await time.pass(60_000);
  for (const log of world.logs.values()) log.append(3, () => time.now);
  await time.pass(30_000);
  const read = members.map(({ open }) =>
    open.map(({ partition, offset }) => `${String(partition)}/${String(offset)}`),
  );
  expect(read.map(({ length }) => length)).toEqual([6, 6]);
  expect(new Set(read.flat()).size).toBe(12);
  for (const { open } of members) for (const record of open) record.done();
  await time.pass(5_000);
  expect(world.coordinator.generation).toBe(generation);
  const { committed } = world.coordinator;
  expect(['t/0', 't/1', 't/2', 't/3'].map((name) => committed.get(name)?.offset)).toEqual([
    3, 3, 3, 3,
  ]);
  for (const { consumption } of members) {
    await time.run(time.now + 10_000, ended(consumption.stop(0)));
  }
});

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

test.each(JUMPS)('a consumer loop is not stuck because the clock was set %s', async (_, byMs) => {
  const loop = new PollLiveness();
  await time.pass(1_000);
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
    await time.pass(60_000);
    expect(mayLog('event')).toBe(true);
  },
);
