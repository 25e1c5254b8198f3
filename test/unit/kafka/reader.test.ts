import { type Cluster } from '../../../shared/kafka/client/cluster';
import { ERROR, KafkaError } from '../../../shared/kafka/protocol/error-codes';
import { DirectReader } from '../../../shared/kafka/reader';
import { type BrokerAnswer, faultyBroker } from '../../support/faulty-broker';

/**
 * When a direct read considers a partition read to the end. Reads from a real broker:
 * kafka-port.test.ts.
 */

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

async function read(
  answers: BrokerAnswer[],
  at: { offset: number; until?: number },
  topic = 'profiles',
) {
  const broker = faultyBroker(topic, answers, 50);
  const reading = new DirectReader(() => Promise.resolve(broker.cluster), '').read({
    topic,
    partition: 0,
    maxBytes: 1_000,
    ...at,
  });
  const settled = reading.catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(120_000);
  return settled;
}

test.each<[string, BrokerAnswer[]]>([
  [
    'that was throttled',
    [{ throttledMs: 100 }, { throttledMs: 100 }, { highWatermark: 50, next: 20 }],
  ],
  ['that lacks the partition', ['nothing', { highWatermark: 50, next: 20 }]],
  ['from a new leader that is behind', [{ highWatermark: 10 }, { highWatermark: 50, next: 20 }]],
])('a read is repeated after an empty answer %s', async (_, answers) => {
  expect(await read(answers, { offset: 10, until: 50 })).toMatchObject({
    next: 20,
    end: 50,
    gone: false,
  });
});

test('a read passes a stretch that compaction has emptied', async () => {
  expect(await read([{ highWatermark: 50 }], { offset: 10, until: 50 })).toMatchObject({
    next: 50,
    end: 50,
  });
  expect(await read([{ highWatermark: 50, next: 12 }], { offset: 10 })).toMatchObject({
    next: 12,
    end: 50,
  });
});

test('an empty answer below the end of a topic that is not compacted is read again', async () => {
  const answers: BrokerAnswer[] = [{ highWatermark: 50 }, { highWatermark: 50, next: 20 }];
  expect(await read(answers, { offset: 10 }, 'messages')).toMatchObject({ next: 20, end: 50 });
});

test.each<[string, BrokerAnswer]>([
  ['throttles without end', { throttledMs: 100 }],
  ['never names the partition', 'nothing'],
  ['never reaches its known end', { highWatermark: 10 }],
])('a read fails if the broker %s', async (_, answer) => {
  expect(await read([answer], { offset: 10, until: 50 })).toMatchObject({
    code: 'kafka_unavailable',
    retriable: true,
  });
});

describe('reads of several partitions that begin together', () => {
  type Fetch = {
    topics: { topic: string; partitions: { partition: number; fetchOffset: string }[] }[];
  };

  /** @param answer returns the partitions for which the broker has room */
  async function readAll(
    partitions: number[],
    answer: (asked: number[]) => number[],
    topics = ['profiles'],
  ) {
    const requests: number[][] = [];
    const broker = {
      fetch: ({ topics: [asked] }: Fetch) => {
        const numbers = asked!.partitions.map(({ partition }) => partition);
        requests.push(numbers);
        const filled = answer(numbers);
        const responses = numbers.map((partition) => ({
          partition,
          highWatermark: '50',
          messages: [],
          next: filled.includes(partition) ? 20 : undefined,
        }));
        return Promise.resolve({
          clientSideThrottleTime: 0,
          responses: [{ topicName: asked!.topic, partitions: responses }],
        });
      },
    };
    const { cluster } = faultyBroker('profiles', [], 50);
    const connect = () =>
      Promise.resolve({ ...cluster, findBroker: () => Promise.resolve(broker) });
    const reader = new DirectReader(connect, '');
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
    const { requests, read } = await readAll([0, 1, 2], (asked) => {
      if (asked.includes(1)) {
        throw new KafkaError('profiles/1', ERROR.offsetOutOfRange);
      }
      return asked;
    });
    expect([requests, read]).toEqual([
      [[0, 1, 2], [0], [1], [2]],
      [20, 'gone', 20],
    ]);
  });

  test('share none with another topic', async () => {
    const { requests, read } = await readAll([0, 1], (asked) => asked, [
      'profiles',
      'profiles.status',
    ]);
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
      if (tries++ === 0) throw new Error('Connection timeout');
      return asked;
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
  const waits: number[][] = [];
  const connect = () => {
    const own: number[] = [];
    waits.push(own);
    const { cluster } = faultyBroker('profiles', [{ highWatermark: 50, next: 20 }], 50);
    const findBroker: Cluster['findBroker'] = async (node) => {
      const broker = await cluster.findBroker(node);
      return {
        fetch: (request) => {
          own.push(request.maxWaitTime, request.minBytes);
          return broker.fetch(request);
        },
      };
    };
    return Promise.resolve({ ...cluster, findBroker });
  };
  const reader = new DirectReader(connect, '');
  const at = { topic: 'profiles', partition: 0, offset: 10, maxBytes: 1 };
  await Promise.all([
    reader.read({ ...at, waitMs: 5_000 }),
    reader.read(at),
    jest.advanceTimersByTimeAsync(1_000),
  ]);
  expect(waits).toEqual([
    [5_000, 1],
    [0, 0],
  ]);
});
