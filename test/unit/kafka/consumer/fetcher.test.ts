import { type FetchConnection } from '../../../../shared/kafka/consumer/brokers';
import { Fetcher, type FetcherParts } from '../../../../shared/kafka/consumer/fetcher';
import { Leaders } from '../../../../shared/kafka/consumer/leaders';
import { Partition } from '../../../../shared/kafka/consumer/partition';
import { FetchedRecord } from '../../../../shared/kafka/protocol/batch';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import {
  type FetchedPartition,
  type FetchInput,
} from '../../../../shared/kafka/protocol/fetch-request';
import { createLog } from '../../../../shared/telemetry/log';

/** How the fetcher chooses its brokers, and what it does with their answers. */

const [LEADER, REPLICA, OTHER] = [1, 2, 3];
const NOT_LEADER = 6;

beforeEach(() => jest.useFakeTimers({ doNotFake: ['queueMicrotask'] }));
afterEach(() => jest.useRealTimers());

type Answer = Partial<FetchedPartition>;
interface Fetch {
  node: number;
  input: FetchInput;
  answer(...partitions: Answer[]): Promise<void>;
  fail(): Promise<void>;
}

const record = (offset: number, epoch = 0) =>
  new FetchedRecord({ buffer: Buffer.alloc(0), isHidden: false, epoch }, 0, offset, 100 + offset);
/** An answer with these records. */
const records = (...offsets: number[]): Answer => ({
  records: offsets.map((offset) => record(offset)),
  next: offsets.at(-1)! + 1,
});

/** A fetcher of one partition of `t`, led by broker 1. Time passes only while it waits. */
async function setUp({ rack = '' } = {}) {
  const fetches: Fetch[] = [];
  const events: string[] = [];
  /** finds where a partition goes on */
  let goOn: () => void = () => undefined;
  const lookUp = new Promise<void>((resolve) => (goOn = resolve));
  const led = { leader: LEADER, epoch: 0 };
  const topic = { errorCode: 0, id: 'a', partitions: [{ ...led }, { ...led }] };
  const leaders = new Leaders(
    {
      metadata: () => Promise.resolve(new Map([['t', structuredClone(topic)]])),
      listOffsets: () => Promise.resolve([]),
      epochEnd: () => Promise.resolve(undefined),
    },
    ['t'],
  );
  await leaders.refresh();
  const partition = new Partition('t', 0, 5);
  partition.position.compare(undefined);
  partition.position.read(record(4), 5);
  partition.position.doubt();
  const settle = () => jest.advanceTimersByTimeAsync(10);
  const open = (node: number): FetchConnection => {
    let isOpen = true;
    let pending: Parameters<FetchConnection['fetch']>[1] | undefined;
    return {
      get isOpen() {
        return isOpen;
      },
      fetch: (input, done) => {
        pending = done;
        const answer = (...partitions: Answer[]) => {
          const all = partitions.map((each): FetchedPartition => ({
            topic: input.topics[0]!.topic,
            partition: 0,
            errorCode: 0,
            highWatermark: 100,
            replica: -1,
            records: [],
            next: undefined,
            ...each,
          }));
          pending = undefined;
          done(undefined, { throttleMs: 0, errorCode: 0, sessionId: 0, partitions: all });
          return settle().then(() => undefined);
        };
        const fail = () => {
          pending = undefined;
          done(new Error('the connection broke'), undefined);
          return jest.advanceTimersByTimeAsync(200).then(() => undefined);
        };
        fetches.push({ node, input, answer, fail });
      },
      close: () => {
        isOpen = false;
        const under = pending;
        pending = undefined;
        under?.(new Error('the connection was closed'), undefined);
      },
    };
  };
  const partitions = new Map([['t/0', partition]]);
  const parts: FetcherParts = {
    brokers: { openFetches: (node) => Promise.resolve(open(node)) },
    partitions,
    prefix: '',
    leaders,
    refreshLeaders: () => {
      events.push('looks for leaders');
      void leaders.refresh().then(() => fetcher.wake());
    },
    onRecords: (_, __, read) => events.push(`read ${read.map(({ offset }) => offset).join()}`),
    onCut: () => {
      events.push('cut');
      return lookUp;
    },
    onOutOfRange: (_, { position }) => {
      events.push(`out of range ${String(position.fetchFrom)}`);
      return lookUp;
    },
    onTurn: () => undefined,
    rack,
    wait: { maxWaitTime: 100, minBytes: 1 },
    maxBytes: 1_000,
    maxBytesPerPartition: 100,
    log: createLog('test', 'silent'),
  };
  const fetcher: Fetcher = new Fetcher(parts);
  fetcher.wake();
  await settle();
  const current = () => fetches.at(-1)!;
  const asked = () => {
    const { node, input } = current();
    const [first] = input.topics;
    const { offset, leaderEpoch } = first!.partitions[0]!;
    return { node, offset, leaderEpoch, topicId: first!.topic, rack: input.rack };
  };
  return {
    fetcher,
    leaders,
    partition,
    partitions,
    topic,
    fetches,
    events,
    current,
    asked,
    settle,
    goOn,
  };
}

test('the first fetch begins at the last record read, and passes on those behind it', async () => {
  const { asked, current, events } = await setUp();
  expect(asked()).toEqual({ node: LEADER, offset: 4, leaderEpoch: 0, topicId: 'a', rack: '' });
  // Whole batches, which may begin before.
  await current().answer(records(2, 3, 4, 5, 6));
  expect(events).toEqual(['read 5,6']);
  expect(asked().offset).toBe(7);
});

test('another record in the place of the last one is a cut, and none is passed on', async () => {
  const { current, events, fetches } = await setUp();
  await current().answer({ records: [record(4, 1), record(5, 1)], next: 6 });
  expect([events, fetches.length]).toEqual([['cut'], 1]);
});

test('a partition rests until it is known where it goes on', async () => {
  const { current, events, fetches, goOn, partition, asked, settle } = await setUp();
  await current().answer({ errorCode: ERROR.offsetOutOfRange });
  expect([events, fetches.length, partition.position.rests]).toEqual([['out of range 4'], 1, true]);
  partition.position.skipTo(9);
  goOn();
  await settle();
  expect([asked().offset, partition.position.rests]).toEqual([9, false]);
});

test('a long fetch is interrupted for a new partition, and a short one is not', async () => {
  const { fetcher, partition, partitions, current, fetches, settle } = await setUp();
  await current().answer(records(4));
  const other = new Partition('t', 1, 0);
  other.position.compare(undefined);
  partitions.set('t/1', other);
  fetcher.wake();
  await settle();
  expect(fetches.length).toBe(2);
  partitions.delete('t/1');
  await jest.advanceTimersByTimeAsync(6_000);
  await current().answer();
  expect(current().input.maxWaitMs).toBe(5_000);
  // The partition that it asks for does not interrupt it.
  fetcher.wake();
  await settle();
  const before = fetches.length;
  partitions.set('t/1', other);
  fetcher.wake();
  await settle();
  expect([fetches.length, current().input.maxWaitMs]).toEqual([before + 1, 100]);
  const numbers = current().input.topics[0]!.partitions.map((each) => each.partition);
  expect([numbers.sort(), partition.position.isProven]).toEqual([[0, 1], false]);
});

test('without a session each fetch begins with another partition, so none starves', async () => {
  const { fetcher, partitions, current, settle } = await setUp();
  partitions.set('t/1', new Partition('t', 1, 0));
  fetcher.wake();
  await settle();
  const first: number[] = [];
  for (let i = 0; i < 4; i++) {
    await current().answer();
    first.push(current().input.topics[0]!.partitions[0]!.partition);
  }
  expect(first.sort()).toEqual([0, 0, 1, 1]);
});

test('a log that ends at the place of the last record is looked at', async () => {
  const { current, events } = await setUp();
  await current().answer({ highWatermark: 4 });
  expect(events).toEqual(['out of range 4']);
});

test('an empty answer of a log that goes on proves nothing, and is asked for again', async () => {
  const { current, events, fetches, partition } = await setUp();
  await current().answer({ highWatermark: 50 });
  expect([events, fetches.length, partition.position.isProven]).toEqual([[], 2, false]);
});

test('after a broken connection the position is compared again', async () => {
  const { asked, current, events } = await setUp();
  await current().answer(records(4, 5, 6));
  expect(asked().offset).toBe(7);
  await current().fail();
  expect(asked().offset).toBe(6);
  await current().answer(records(6, 7));
  expect(events).toEqual(['read 5,6', 'looks for leaders', 'read 7']);
});

test.each<[string, (partition: Partition) => void, (partition: Partition) => void]>([
  ['paused', (partition) => (partition.buffered = []), (partition) => partition.discardBuffered()],
  ['revoked', (partition) => partition.change('stop'), (partition) => partition.change('goOn')],
])(
  'after a broken connection the position of a partition that was %s is compared too',
  async (_, stop, goOn) => {
    const { current, partition, partitions } = await setUp();
    await current().answer(records(4, 5, 6));
    partitions.set('t/1', new Partition('t', 1, 0));
    stop(partition);
    await current().fail();
    goOn(partition);
    await current().answer();
    const asked = current().input.topics[0]!.partitions.find(({ partition }) => partition === 0);
    expect(asked!.offset).toBe(6);
  },
);

test('a new leader, or one elected again, compares the position', async () => {
  const { asked, current, topic } = await setUp();
  await current().answer(records(4, 5, 6));
  topic.partitions[0] = { leader: OTHER, epoch: 1 };
  await current().answer({ errorCode: NOT_LEADER });
  await jest.advanceTimersByTimeAsync(200);
  expect(asked()).toMatchObject({ node: OTHER, offset: 6, leaderEpoch: 1 });
  await current().answer(records(6, 7));
  topic.partitions[0] = { leader: OTHER, epoch: 2 };
  await current().answer({ errorCode: NOT_LEADER });
  await jest.advanceTimersByTimeAsync(200);
  expect(asked()).toMatchObject({ node: OTHER, offset: 7, leaderEpoch: 2 });
});

test('an answer of the former leader proves nothing about the log of the new one', async () => {
  const { current, topic, fetches, events, fetcher, partition, leaders, settle } = await setUp();
  topic.partitions[0] = { leader: OTHER, epoch: 1 };
  await leaders.refresh();
  fetcher.wake();
  await settle();
  expect(fetches.map(({ node }) => node)).toEqual([LEADER, OTHER]);
  await fetches[0]!.answer(records(4, 5));
  expect([events, partition.position.isProven]).toEqual([[], false]);
  await current().answer(records(4, 5));
  expect(events).toEqual(['read 5']);
});

test('a topic that was made again is asked by its new id, for the last record read', async () => {
  const { asked, current, topic } = await setUp();
  await current().answer(records(4, 5, 6));
  topic.id = 'b';
  await current().answer({ errorCode: 100 });
  await jest.advanceTimersByTimeAsync(200);
  expect(asked()).toMatchObject({ topicId: 'b', offset: 6 });
});

test('an answer for a position that was left is dropped', async () => {
  const { current, events, partition } = await setUp();
  await current().answer(records(4, 5, 6));
  partition.position.goBack(3);
  await current().answer(records(7, 8));
  expect(events).toEqual(['read 5,6']);
  await current().answer(records(3, 4, 5));
  expect(events).toEqual(['read 5,6', 'read 3,4,5']);
});

test('a partition whose records are damaged rests, and is tried again later', async () => {
  const { current, fetches, events } = await setUp();
  await current().answer({ errorCode: ERROR.corruptMessage, damage: 'checksum' });
  expect(fetches).toHaveLength(1);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(fetches).toHaveLength(2);
  expect(events).toEqual(['looks for leaders']);
});

describe('a consumer that names its rack', () => {
  /** The leader has compared the position, and named the replica, which is connected. */
  async function onReplica() {
    const setup = await setUp({ rack: 'here' });
    const { asked, current } = setup;
    expect(asked()).toMatchObject({ node: LEADER, rack: '' });
    await current().answer(records(4, 5));
    expect(asked()).toMatchObject({ node: LEADER, offset: 6, rack: 'here' });
    await current().answer({ replica: REPLICA });
    // The connection to the replica is new.
    expect(asked()).toMatchObject({ node: LEADER, offset: 5, rack: '' });
    await current().answer(records(5, 6));
    await current().answer({ replica: REPLICA });
    expect(asked()).toMatchObject({ node: REPLICA, offset: 7, rack: 'here' });
    return setup;
  }

  test('reads from the replica that the leader names', async () => {
    const { asked, current, events } = await onReplica();
    await current().answer(records(7));
    expect(asked()).toMatchObject({ node: REPLICA, offset: 8 });
    expect(events).toEqual(['read 5', 'read 6', 'read 7']);
  });

  test('asks the leader when the replica lags behind, or its broker is gone', async () => {
    const lagging = await onReplica();
    await lagging.current().answer({ errorCode: ERROR.offsetOutOfRange });
    await jest.advanceTimersByTimeAsync(200);
    expect(lagging.asked()).toMatchObject({ node: LEADER, offset: 7 });
    expect(lagging.events).not.toContain('out of range 7');

    const gone = await onReplica();
    await gone.current().fail();
    expect(gone.asked()).toMatchObject({ node: LEADER, offset: 6, rack: '' });
  });

  test('asks a newly elected leader first: the replica may not have cut its log yet', async () => {
    const { asked, current, topic, leaders } = await onReplica();
    topic.partitions[0] = { leader: LEADER, epoch: 1 };
    await leaders.refresh();
    await current().answer(records(7));
    expect(asked()).toMatchObject({ node: LEADER, leaderEpoch: 1, rack: '' });
  });

  test('asks the leader again after five minutes', async () => {
    const { asked, current } = await onReplica();
    await jest.advanceTimersByTimeAsync(300_000);
    await current().answer(records(7));
    expect(asked()).toMatchObject({ node: LEADER, offset: 8 });
  });
});
