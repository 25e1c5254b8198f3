import { type Admin } from 'kafkajs';
import { decodeRuns } from '../../../../shared/kafka/consumer/last-commit';
import { KafkaConsumption } from '../../../../shared/kafka/consumer/consumer';
import { Membership } from '../../../../shared/kafka/client/membership';
import { type Committed } from '../../../../shared/kafka/client/committed-offsets';
import { PollLiveness } from '../../../../shared/runtime/health';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { logThrottle } from '../../../../shared/runtime/load-limits';
import { createLog } from '../../../../shared/telemetry/log';
import { randomOf } from '../../../../tools/harness/random';
import { type Around, ModelConsumer } from '../group/consumer';
import { Coordinator } from '../group/coordinator';
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
  const coordinator = new Coordinator(time, randomOf(1));
  const around: Around = {
    time,
    random: randomOf(2),
    coordinator,
    ends: new Map([['t/0', 3]]),
    counts: new Map([['t', 1]]),
  };
  const membership = new Membership();
  const open: OpenRecord[] = [];
  const parts = {
    make: () =>
      new ModelConsumer(around, { dead: false, awayUntil: 0 }, membership.assigner).asConsumer,
    membership,
    groupId: 'g',
    prefix: '',
    log: createLog('test', 'silent'),
    readCommitted: () => Promise.resolve(new Map<string, Committed>()),
    admin: {
      fetchTopicOffsets: () => Promise.resolve([]),
    } as unknown as Admin,
    partitionOf: () => 0,
    appendedAt: () => Promise.resolve(undefined),
  };
  const consumption = new KafkaConsumption(parts, {
    group: 'g',
    topics: ['t'],
    onRecord: (record) => {
      open.push(record);
      return 'accepted';
    },
    onFatal: (error) => {
      throw error;
    },
  });
  void consumption.start();
  await time.run(60_000, () => open.length === 3);
  return { consumption, open, committed: () => coordinator.committed.get('t/0') };
}

test.each(JUMPS)(
  'after the clock was set %s, records done above an open one are still committed',
  async (_, byMs) => {
    const { consumption, open, committed } = await consume();
    open[1]!.done();
    await pass(1_000);
    expect(decodeRuns(committed()!.metadata)).toEqual([1, 1]);
    time.clockSetMs = byMs;
    open[2]!.done();
    await pass(1_000);
    expect(decodeRuns(committed()!.metadata)).toEqual([1, 2]);
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
