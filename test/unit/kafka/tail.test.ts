import { brokerClock } from '../../../shared/kafka/broker-clock';
import { KafkaTail } from '../../../shared/kafka/tail';
import { createLog } from '../../../shared/telemetry/log';
import { type BrokerAnswer, type FaultyBroker, faultyBroker } from '../../support/faulty-broker';

/**
 * When a tail considers its topic read to the end, and when it is stuck. Real brokers:
 * tail-cluster.test.ts.
 */

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

async function start(
  answers: BrokerAnswer[],
  end: number,
  second?: FaultyBroker,
  topic = 'config',
) {
  const broker = faultyBroker(topic, answers, end);
  if (second) addBroker(broker, second);
  const onFatal = (error: unknown) => {
    throw error;
  };
  const tail = new KafkaTail(broker.admin, broker.admin, {
    name: 'test',
    topic,
    from: 'beginning',
    prefix: '',
    wait: { maxWaitTime: 100, minBytes: 1 },
    onFatal,
    onRecord: () => undefined,
    connect: () => Promise.resolve(broker.cluster),
    log: createLog('test', 'silent'),
  });
  await tail.start();
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const stop = () => Promise.all([tail.stop(), pass(2_000)]);
  return { broker, tail, pass, stop };
}

/** Adds a broker that leads partition 1. */
function addBroker({ admin, cluster }: FaultyBroker, second: FaultyBroker) {
  const [{ fetchTopicOffsets }, { findBroker }] = [admin, { ...cluster }];
  const partitions = [0, 1].map((partitionId) => ({ partitionId, leader: partitionId + 1 }));
  admin.fetchTopicMetadata = () =>
    Promise.resolve({ topics: [{ name: 'any', partitions }] }) as never;
  admin.fetchTopicOffsets = async (topic) => [
    ...(await fetchTopicOffsets(topic)),
    { partition: 1, offset: '', low: '0', high: String(second.end) },
  ];
  cluster.findTopicPartitionMetadata = () => partitions;
  cluster.findBroker = (node) =>
    (node.nodeId === '2' ? second.cluster : { findBroker }).findBroker(node);
}

const GIVEN = { highWatermark: 50, next: 50 };
const NOTHING_NEW = { highWatermark: 50 };

test.each<[string, BrokerAnswer]>([
  ['a throttled answer', { throttledMs: 100 }],
  ['an answer that does not name the partition', 'nothing'],
  ['an error', new Error('away')],
])('a tail does not take %s for the end of its topic', async (_, answer) => {
  const { tail, broker, pass, stop } = await start([answer], 50);
  await pass(5_000);
  expect(tail.completeAt).toBe(-Infinity);
  broker.answers = [GIVEN, NOTHING_NEW];
  await pass(2_000);
  expect(tail.completeAt).toBeGreaterThan(0);
  await stop();
});

test("a tail learns that the brokers' clock has gone ahead", async () => {
  const read = jest.spyOn(brokerClock, 'read');
  const record = { offset: 49, timestamp: 1_700_000_000_000, key: null, value: null, headers: {} };
  const { pass, stop } = await start([{ ...GIVEN, messages: [record] }, NOTHING_NEW], 50);
  await pass(100);
  expect(read).toHaveBeenCalledWith(record.timestamp);
  read.mockRestore();
  await stop();
});

test('a tail is complete as of the start of the fetch that got the high watermark', async () => {
  const { tail, pass, stop } = await start(
    [{ highWatermark: 50, next: 20 }, GIVEN, NOTHING_NEW],
    50,
  );
  const begunAt = performance.now();
  await pass(15);
  expect(tail.completeAt).toBe(-Infinity);
  await pass(10);
  expect(tail.completeAt).toBe(begunAt + 10);
  await stop();
});

test('a tail is not complete at the older high watermark of a new leader', async () => {
  const { tail, broker, pass, stop } = await start([GIVEN, NOTHING_NEW], 50);
  await pass(100);
  broker.end = 53;
  broker.answers = [new Error('not the leader any more'), NOTHING_NEW];
  await pass(20);
  const before = tail.completeAt;
  await pass(1_000);
  expect(tail.completeAt).toBe(before);
  broker.answers = [{ highWatermark: 53, next: 53 }, { highWatermark: 53 }];
  await pass(100);
  expect(tail.completeAt).toBeGreaterThan(before);
  await stop();
});

test("while a tail looks up one partition's end, it reads no other record twice", async () => {
  const second = faultyBroker('attempts', [GIVEN, NOTHING_NEW], 50);
  const { broker, pass, stop } = await start([GIVEN, NOTHING_NEW], 50, second, 'attempts');
  await pass(100);
  // The look-up after the interruption takes longer than the other broker needs to append and send
  // records.
  const { fetchTopicOffsets } = broker.admin;
  broker.admin.fetchTopicOffsets = async (topic) => {
    const ends = await fetchTopicOffsets(topic);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return ends;
  };
  second.answers = [new Error('not the leader any more'), NOTHING_NEW];
  await pass(150);
  broker.answers = [{ highWatermark: 60, next: 60 }, { highWatermark: 60 }];
  await pass(1_000);
  expect(broker.asked.at(-1)).toBe(60);
  expect(broker.asked).toEqual(broker.asked.toSorted((a, b) => a - b));
  await stop();
});

test('a look-up that began before an interruption does not prove the end', async () => {
  const second = faultyBroker('config', [GIVEN, NOTHING_NEW], 50);
  const { tail, broker, pass, stop } = await start([GIVEN, NOTHING_NEW], 50, second);
  await pass(100);
  const { fetchTopicOffsets } = broker.admin;
  broker.admin.fetchTopicOffsets = async (topic) => {
    const ends = await fetchTopicOffsets(topic);
    await new Promise((resolve) => setTimeout(resolve, 500));
    return ends;
  };
  second.answers = [new Error('not the leader any more'), NOTHING_NEW];
  await pass(200);
  // Given that a look-up is under way, the other leader changes as well, after it has appended
  // three records.
  broker.end = 53;
  broker.answers = [new Error('not the leader any more'), NOTHING_NEW];
  const interruptedAt = performance.now();
  await pass(3_000);
  expect(tail.completeAt).toBeLessThan(interruptedAt);
  broker.answers = [{ highWatermark: 53, next: 53 }, { highWatermark: 53 }];
  await pass(100);
  expect(tail.completeAt).toBeGreaterThan(interruptedAt);
  await stop();
});

test('a tail is not stuck while no partition has a leader', async () => {
  const { tail, broker, pass, stop } = await start([GIVEN, NOTHING_NEW], 50);
  await pass(100);
  broker.cluster.findTopicPartitionMetadata = () => [{ partitionId: 0, leader: -1 }];
  broker.admin.fetchTopicOffsets = () => Promise.resolve([]);
  await pass(61_000);
  const before = tail.completeAt;
  expect([tail.stuck(), before < performance.now() - 60_000]).toEqual([undefined, true]);
  await stop();
});

test('a tail reads past a stretch that compaction has emptied', async () => {
  const { broker, pass, stop } = await start([{ highWatermark: 50 }], 50);
  await pass(50);
  expect([broker.asked[0], broker.asked.at(-1)]).toEqual([0, 50]);
  await stop();
});

test('a tail is stuck after an empty minute, unless a broker is away or throttles', async () => {
  for (const [answer, stuck] of [
    ['nothing', true],
    [{ throttledMs: 100 }, false],
    [NOTHING_NEW, false],
  ] as const) {
    const { tail, pass, stop } = await start([answer], 50);
    await pass(61_000);
    expect(tail.stuck() !== undefined).toBe(stuck);
    await stop();
  }
  const { tail, broker, pass, stop } = await start([new Error('away')], 50);
  broker.admin.fetchTopicOffsets = () => Promise.reject(new Error('away'));
  await pass(61_000);
  expect(tail.stuck()).toBeUndefined();
  await stop();
});
