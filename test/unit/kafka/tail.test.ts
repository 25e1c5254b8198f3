import { brokerClock } from '../../../shared/kafka/broker-clock';
import { type LogBrokers } from '../../../shared/kafka/consumer/brokers';
import { ERROR } from '../../../shared/kafka/protocol/error-codes';
import { type TailOptions } from '../../../shared/kafka/port';
import { KafkaTail } from '../../../shared/kafka/tail';
import { createLog } from '../../../shared/telemetry/log';
import { type Fault, faultyBroker, type FaultyBroker, logsOf } from '../../support/faulty-broker';

/**
 * When a tail considers its topic read to the end, and when it is stuck. Cuts of its log:
 * tail-model.long.test.ts. Real brokers: three-brokers.test.ts, log-cut.test.ts.
 */

beforeEach(() => jest.useFakeTimers({ doNotFake: ['queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

function tailOf(
  topic: string,
  brokers: LogBrokers,
  read: number[],
  from: TailOptions['from'] = 'beginning',
  log = createLog('test', 'silent'),
): KafkaTail {
  return new KafkaTail({
    name: 'test',
    topic,
    from,
    prefix: '',
    wait: { maxWaitTime: 100, minBytes: 1 },
    brokers,
    onRecord: ({ offset }) => read.push(offset),
    onFatal: (error) => {
      throw error;
    },
    log,
  });
}

async function start(
  brokers: FaultyBroker[],
  topic = 'config',
  from: TailOptions['from'] = 'beginning',
) {
  const read: number[] = [];
  const tail = tailOf(topic, logsOf(topic, brokers), read, from);
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  await Promise.all([tail.start(), pass(0)]);
  return { tail, read, pass, stop: () => Promise.all([tail.stop(), pass(2_000)]) };
}

const NOT_LEADER = new Error('not the leader any more');

test.each<[string, Fault]>([
  ['a throttled answer', { throttledMs: 100 }],
  ['an answer that does not name the partition', 'nothing'],
  ['an error', new Error('away')],
])('a tail does not take %s for the end of its topic', async (_, fault) => {
  const broker = faultyBroker(50, fault);
  const { tail, pass, stop } = await start([broker]);
  await pass(5_000);
  expect(tail.completeAt).toBe(-Infinity);
  broker.faults = [];
  await pass(2_000);
  expect(tail.completeAt).toBeGreaterThan(0);
  await stop();
});

test('a tail of a topic that its user may not read fails at once, in one sentence', async () => {
  const forbidden = { errorCode: ERROR.topicForbidden, id: '', partitions: [] };
  const metadata = () => Promise.resolve(new Map([['config', forbidden]]));
  const tail = tailOf('config', { ...logsOf('config', []), metadata }, []);
  await expect(tail.start()).rejects.toMatchObject({
    code: 'cannot_start',
    message: 'this user may not read the topic config',
  });
});

test("a tail learns that the brokers' clock has gone ahead", async () => {
  const heard = jest.spyOn(brokerClock, 'read');
  const { pass, stop } = await start([faultyBroker(50)]);
  await pass(100);
  expect(heard).toHaveBeenCalledWith(1_700_000_000_049);
  heard.mockRestore();
  await stop();
});

test('a tail is complete as of the start of the fetch that got the high watermark', async () => {
  const broker = faultyBroker(50);
  broker.most = 30;
  const { tail, pass, stop } = await start([broker]);
  const startedAt = performance.now();
  await pass(15);
  expect(tail.completeAt).toBe(-Infinity);
  await pass(10);
  expect(tail.completeAt).toBe(startedAt + 10);
  await stop();
});

test('a tail is not complete at the older high watermark of a new leader', async () => {
  const broker = faultyBroker(50);
  const { tail, pass, stop } = await start([broker]);
  await pass(100);
  broker.faults = [NOT_LEADER, undefined];
  broker.looksUp = () => Promise.resolve(53);
  await pass(20);
  const before = tail.completeAt;
  await pass(1_000);
  expect(tail.completeAt).toBe(before);
  broker.end = 53;
  await pass(100);
  expect(tail.completeAt).toBeGreaterThan(before);
  await stop();
});

test("while a tail looks up one partition's end, it reads no record twice", async () => {
  const [first, second] = [faultyBroker(50), faultyBroker(50)];
  const { read, pass, stop } = await start([first, second], 'attempts');
  await pass(100);
  second.looksUp = () => new Promise((resolve) => setTimeout(resolve, 200, 50));
  second.faults = [NOT_LEADER, undefined];
  await pass(150);
  first.end = 60;
  await pass(1_000);
  expect(read.toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: 50 }, (_, i) => [i, i]).flat(),
    ...Array.from({ length: 10 }, (_, i) => 50 + i),
  ]);
  await stop();
});

test('a look-up that began before an interruption does not prove the end', async () => {
  const broker = faultyBroker(50);
  const { tail, pass, stop } = await start([broker]);
  await pass(100);
  broker.looksUp = () => new Promise((resolve) => setTimeout(resolve, 500, 50));
  broker.faults = [NOT_LEADER, undefined];
  await pass(200);
  // While that look-up is under way, the leader changes again, after it has appended three records
  // that the next one does not show yet.
  broker.looksUp = () => Promise.resolve(53);
  broker.faults = [NOT_LEADER, undefined];
  const interruptedAt = performance.now();
  await pass(3_000);
  expect(tail.completeAt).toBeLessThan(interruptedAt);
  broker.end = 53;
  await pass(200);
  expect(tail.completeAt).toBeGreaterThan(interruptedAt);
  await stop();
});

test('a tail is not stuck while no partition has a leader', async () => {
  const broker = faultyBroker(50);
  const { tail, pass, stop } = await start([broker]);
  await pass(100);
  broker.leads = false;
  broker.faults = [NOT_LEADER];
  await pass(61_000);
  const before = tail.completeAt;
  expect([tail.stuck(), before < performance.now() - 60_000]).toEqual([undefined, true]);
  await stop();
});

test('a tail warns once while one of its brokers is away, and again the next time', async () => {
  const log = createLog('test', 'silent');
  const warned = jest.spyOn(log, 'warn');
  const [first, second] = [faultyBroker(50), faultyBroker(50)];
  const tail = tailOf('attempts', logsOf('attempts', [first, second]), [], 'beginning', log);
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  await Promise.all([tail.start(), pass(1_000)]);
  second.faults = [new Error('away')];
  await pass(5_000);
  expect(warned).toHaveBeenCalledTimes(1);
  second.faults = [];
  await pass(5_000);
  second.faults = [new Error('away')];
  await pass(5_000);
  expect(warned).toHaveBeenCalledTimes(2);
  await Promise.all([tail.stop(), pass(2_000)]);
});

test('a tail of recent records soon reads partitions that had no leader at its start', async () => {
  const broker = faultyBroker(50);
  broker.leads = false;
  const { read, pass, stop } = await start([broker], 'messages', { sinceMs: 0, atMost: 10 });
  await pass(1_000);
  broker.leads = true;
  broker.looksUp = () => Promise.resolve(40);
  await pass(2_000);
  expect(read).toHaveLength(10);
  await stop();
});

test('a tail reads past a stretch that compaction has emptied', async () => {
  const broker = faultyBroker(50, { records: [], next: undefined });
  const { tail, pass, stop } = await start([broker]);
  await pass(50);
  expect([broker.asked[0], broker.asked.at(-1)]).toEqual([0, 50]);
  expect(tail.completeAt).toBeGreaterThan(0);
  await stop();
});

test('a tail whose last record was compacted is complete again once it reconnects', async () => {
  const broker = faultyBroker(50);
  const { tail, pass, stop } = await start([broker]);
  await pass(100);
  broker.faults = [NOT_LEADER, { records: [], next: undefined }];
  const interruptedAt = performance.now();
  await pass(1_000);
  expect(tail.completeAt).toBeGreaterThan(interruptedAt);
  await stop();
});

test('a tail is stuck after an empty minute, unless a broker is away or throttles', async () => {
  for (const [fault, stuck] of [
    ['nothing', true],
    [{ throttledMs: 100 }, false],
    [undefined, false],
    [new Error('away'), false],
  ] as const) {
    const { tail, pass, stop } = await start([faultyBroker(50, fault)]);
    await pass(61_000);
    expect([fault, tail.stuck() !== undefined]).toEqual([fault, stuck]);
    await stop();
  }
});

test('who waits for the end of an idle log makes one look-up, and the fetches short', async () => {
  const broker = faultyBroker(50);
  const { tail, pass, stop } = await start([broker]);
  await pass(6_000);
  expect(broker.waits.at(-1)).toBe(5_000);
  const look = jest.fn(() => Promise.resolve(50));
  broker.looksUp = look;
  // An idle broker answers a fetch after five seconds.
  const before = tail.completeAt;
  tail.expectSoon();
  tail.expectSoon();
  await pass(5);
  expect([look.mock.calls.length, tail.completeAt > before]).toEqual([1, true]);
  await pass(50);
  expect(broker.waits.at(-1)).toBe(100);
  tail.expectSoon();
  await pass(5);
  expect(look).toHaveBeenCalledTimes(1);
  await stop();
});
