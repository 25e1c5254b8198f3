import { type FetchConnection } from '../../../shared/kafka/consumer/brokers';
import { ERROR } from '../../../shared/kafka/protocol/error-codes';
import { type FetchInput } from '../../../shared/kafka/protocol/fetch-request';
import { DirectReader } from '../../../shared/kafka/reader';
import { type Fault, type FaultyBroker, faultyBroker, logsOf } from '../../support/faulty-broker';

/**
 * When a direct read considers a partition read to the end. Reads from a real broker:
 * kafka-port.test.ts.
 */

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

async function read(
  faults: (Fault | undefined)[],
  at: { offset: number; until?: number },
  topic = 'profiles',
) {
  const broker = faultyBroker(50, ...faults);
  broker.most = 10;
  const reader = new DirectReader(() => Promise.resolve(logsOf(topic, [broker])), '');
  const settled = reader
    .read({ topic, partition: 0, maxBytes: 1_000, ...at })
    .catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(120_000);
  return settled;
}

const EMPTY = { records: [], next: undefined };

test.each<[string, Fault[]]>([
  ['that was throttled', [{ throttledMs: 100 }, { throttledMs: 100 }]],
  ['that lacks the partition', ['nothing']],
  ['from a new leader that is behind', [{ ...EMPTY, highWatermark: 10 }]],
])('a read is repeated after an empty answer %s', async (_, faults) => {
  expect(await read([...faults, undefined], { offset: 10, until: 50 })).toMatchObject({
    next: 20,
    end: 50,
    gone: false,
  });
});

test('a read passes a stretch that compaction has emptied', async () => {
  expect(await read([EMPTY], { offset: 10, until: 50 })).toMatchObject({ next: 50, end: 50 });
  expect(await read([{ records: [], next: 12 }], { offset: 10 })).toMatchObject({
    next: 12,
    end: 50,
  });
});

test('an empty answer below the end of a topic that is not compacted is read again', async () => {
  const found = await read([EMPTY, undefined], { offset: 10 }, 'messages');
  expect(found).toMatchObject({ next: 20, end: 50 });
});

test.each<[string, Fault]>([
  ['throttles without end', { throttledMs: 100 }],
  ['never names the partition', 'nothing'],
  ['never reaches its known end', { ...EMPTY, highWatermark: 10 }],
])('a read fails if the broker %s', async (_, fault) => {
  expect(await read([fault], { offset: 10, until: 50 })).toMatchObject({
    code: 'kafka_unavailable',
    retriable: true,
  });
});

test('a range is looked up again while a leader is missing', async () => {
  const broker = faultyBroker(50);
  broker.leads = false;
  const reader = new DirectReader(() => Promise.resolve(logsOf('messages', [broker])), '');
  const ranges = reader.ranges('messages');
  await jest.advanceTimersByTimeAsync(5_000);
  broker.leads = true;
  await jest.advanceTimersByTimeAsync(500);
  expect(await ranges).toEqual([{ partition: 0, low: 0, high: 50 }]);
});

test('a topic that a broker does not know yet is looked up again', async () => {
  const broker = faultyBroker(50);
  const logs = logsOf('messages', [broker]);
  let looks = 0;
  const metadata = (topics: readonly string[]) =>
    looks++ === 0 ? Promise.resolve(new Map()) : logs.metadata(topics);
  // A partition without a leader counts.
  broker.leads = false;
  const reader = new DirectReader(() => Promise.resolve({ ...logs, metadata }), '');
  const counts = reader.partitionCounts(['messages'], 5_000);
  await jest.advanceTimersByTimeAsync(1_000);
  expect([await counts, looks]).toEqual([new Map([['messages', 1]]), 2]);
});

test.each([
  ['is missing', 0, 'kafka_unavailable'],
  ['may not be seen', ERROR.topicForbidden, 'cannot_start'],
])('a topic that %s is an error', async (_, errorCode, code) => {
  const metadata = () =>
    Promise.resolve(new Map([['messages', { errorCode, id: '', partitions: [] }]]));
  const logs = { ...logsOf('messages', []), metadata };
  const reader = new DirectReader(() => Promise.resolve(logs), '');
  const counts = reader.partitionCounts(['messages'], 5_000).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(6_000);
  expect(await counts).toMatchObject({ code });
});

describe('reads of several partitions that begin together', () => {
  /** @param answer returns the partitions for which the broker has room, or an error of it */
  async function readAll(
    partitions: number[],
    answer: (asked: number[]) => number[] | Error,
    { topics = ['profiles'], gone = [] }: { topics?: string[]; gone?: number[] } = {},
  ) {
    const requests: number[][] = [];
    const fetch = ({ topics: [asked] }: FetchInput) => {
      const numbers = asked!.partitions.map(({ partition }) => partition);
      requests.push(numbers);
      const filled = answer(numbers);
      if (filled instanceof Error) return filled;
      const found = numbers.map((partition) => ({
        topic: asked!.topic,
        partition,
        errorCode: gone.includes(partition) ? ERROR.offsetOutOfRange : 0,
        highWatermark: 50,
        replica: -1,
        records: [],
        next: filled.includes(partition) ? 20 : undefined,
      }));
      return { throttleMs: 0, errorCode: 0, sessionId: 0, partitions: found };
    };
    const leader = { leader: 1, epoch: 0 };
    const brokers = {
      ...logsOf('profiles', []),
      metadata: ([topic]: readonly string[]) =>
        Promise.resolve(
          new Map([[topic!, { errorCode: 0, id: topic!, partitions: [leader, leader, leader] }]]),
        ),
      openFetches: () =>
        Promise.resolve({
          isOpen: true,
          fetch: ((input, done) => {
            const answered = fetch(input);
            if (answered instanceof Error) done(answered, undefined);
            else done(undefined, answered);
          }) satisfies FetchConnection['fetch'],
          close: () => undefined,
        }),
    };
    const reader = new DirectReader(() => Promise.resolve(brokers), '');
    const reads = topics.flatMap((topic) =>
      partitions.map((partition) =>
        reader.read({ topic, partition, offset: 10, until: 50, maxBytes: 1_000 }),
      ),
    );
    const settled = Promise.all(reads);
    await jest.advanceTimersByTimeAsync(1_000);
    return { requests, read: (await settled).map(({ next, gone }) => (gone ? 'gone' : next)) };
  }

  test('share a request', async () => {
    const { requests, read } = await readAll([0, 1, 2], (asked) => asked);
    expect([requests, read]).toEqual([[[0, 1, 2]], [20, 20, 20]]);
  });

  test('are repeated where others left no room in the response, even if compacted', async () => {
    const { requests, read } = await readAll([0, 1, 2], ([first]) => [first!]);
    expect([requests, read]).toEqual([
      [[0, 1, 2], [1, 2], [2]],
      [20, 20, 20],
    ]);
  });

  test('end each for itself: an error of one partition does not reach the others', async () => {
    const { requests, read } = await readAll([0, 1, 2], (asked) => asked, { gone: [1] });
    expect([requests, read]).toEqual([[[0, 1, 2]], [20, 'gone', 20]]);
  });

  test('share none with another topic', async () => {
    const topics = ['profiles', 'profiles.status'];
    const { requests, read } = await readAll([0, 1], (asked) => asked, { topics });
    expect([requests, read]).toEqual([
      [
        [0, 1],
        [0, 1],
      ],
      [20, 20, 20, 20],
    ]);
  });

  test('fail together at an error of the broker, and are repeated together', async () => {
    let tries = 0;
    const { requests, read } = await readAll([0, 1, 2], (asked) => {
      return tries++ === 0 ? new Error('Connection timeout') : asked;
    });
    expect([requests, read]).toEqual([
      [
        [0, 1, 2],
        [0, 1, 2],
      ],
      [20, 20, 20],
    ]);
  });

  test('of the same partition follow each other', async () => {
    const { requests, read } = await readAll([0, 0], (asked) => asked);
    expect([requests, read]).toEqual([
      [[0], [0]],
      [20, 20],
    ]);
  });
});

test('a read that waits delays no other: it has a connection for its topic', async () => {
  const own: FaultyBroker[] = [];
  const connect = () => {
    const broker = faultyBroker(50);
    own.push(broker);
    return Promise.resolve(logsOf('profiles', [broker]));
  };
  const reader = new DirectReader(connect, '');
  const at = { topic: 'profiles', partition: 0, offset: 10, maxBytes: 1 };
  await Promise.all([
    reader.read({ ...at, waitMs: 5_000 }),
    reader.read(at),
    jest.advanceTimersByTimeAsync(1_000),
  ]);
  expect(own.map(({ waits }) => waits).sort()).toEqual([[0], [5_000]]);
});
