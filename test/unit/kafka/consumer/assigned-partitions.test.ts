import { AssignedPartitions } from '../../../../shared/kafka/consumer/assigned-partitions';
import { type Bounds } from '../../../../shared/kafka/consumer/leaders';
import { encodeNote, MOST_NOTE_BYTES } from '../../../../shared/kafka/consumer/commit-note';
import { Membership } from '../../../../shared/kafka/consumer/membership';
import {
  ConsumedRecord,
  idOf,
  type TopicPartition,
} from '../../../../shared/kafka/consumer/partition';
import { FetchedRecord } from '../../../../shared/kafka/protocol/batch';
import { createLog } from '../../../../shared/telemetry/log';
import { eventually } from '../../../support/eventually';

const PLACE = { topic: 't', number: 0 };
const ID = idOf(PLACE);
const LAST = { offset: 4, epoch: 0, timestamp: 1_000 };

/** A member that owns the partition from its commit on. The log has the given bounds. */
async function setUp(options: {
  committed?: number;
  metadata?: string;
  log: Bounds & { led?: boolean; topicId?: string | undefined };
  /** where the log departs from what was read; undefined: the look-up takes longer than the test */
  cutAt?: () => number | undefined;
  /** waits before the answer with the commits */
  hold?: () => Promise<void>;
}) {
  const membership = new Membership();
  const { metadata = '', log, cutAt = () => undefined, hold } = options;
  const missed: number[] = [];
  const cut: { offsets: number; from: number }[] = [];
  const madeAgain: number[] = [];
  const restarted: { number: number; from: number }[] = [];
  const asked: TopicPartition[][] = [];
  const session = { mayRead: true, isInDoubt: false };
  let looks = 0;
  let refreshes = 0;
  const led = <T>(found: T): Promise<T> => {
    looks++;
    return log.led === false ? Promise.reject(new Error('no leader')) : Promise.resolve(found);
  };
  const assigned = new AssignedPartitions({
    membership,
    leaders: {
      offsets: (places) => {
        const found = log.led === false ? [] : places;
        return Promise.resolve(new Map(found.map((place) => [idOf(place), log.low])));
      },
      boundsOf: () => led({ low: log.low, high: log.high }),
      endOfKnown: () => {
        const end = cutAt();
        return end === undefined ? new Promise(() => undefined) : led(end);
      },
      topicIdOf: () => log.topicId,
    },
    prefix: '',
    readCommitted: async (places) => {
      asked.push([...places]);
      await hold?.();
      return places.map(({ topic, number: partition }) => {
        return { topic, partition, errorCode: 0, offset: options.committed ?? 5, metadata };
      });
    },
    session: { isInDoubt: () => session.isInDoubt },
    mayRead: () => session.mayRead,
    onReadable: () => undefined,
    refreshLeaders: () => refreshes++,
    onExpired: (_, offsets) => missed.push(offsets),
    onCut: (_, { offsets, from }) => cut.push({ offsets, from }),
    onMadeAgain: (_, offsets) => madeAgain.push(offsets),
    onRestart: ({ number }, from) => restarted.push({ number, from }),
    log: createLog('test', 'silent'),
  });
  assigned.enter('member', new Map([[ID, PLACE]]));
  const partition = await eventually(() => {
    expect(assigned.partitions.has(ID)).toBe(true);
    return assigned.partitions.get(ID)!;
  });
  const noted = { missed, cut, madeAgain, restarted, asked };
  const counted = { looks: () => looks, refreshes: () => refreshes };
  return { membership, assigned, partition, session, ...noted, ...counted };
}

test('a new owner asks for the commits of its new partitions alone', async () => {
  const { assigned, asked } = await setUp({ log: { low: 0, high: 10 } });
  const more = { topic: 't', number: 7 };
  assigned.enter('member', new Map([PLACE, more].map((place) => [idOf(place), place])));
  expect(asked).toEqual([[PLACE], [more]]);
});

test('a partition without a commit starts at the start of its log, and commits that', async () => {
  const { partition } = await setUp({ committed: -1, log: { low: 3, high: 10 } });
  expect(partition.position.next).toBe(3);
  partition.position.skipTo(3);
  expect(partition.commit(0)).toMatchObject({ offset: 3 });
});

test('a moving partition whose log was cut is claimed until its work is done', async () => {
  const { membership, assigned, partition } = await setUp({ log: { low: 0, high: 10 } });
  partition.offsets.take(5);

  void assigned.goOnAfterCut(ID, partition);
  assigned.enter('member', new Map());
  assigned.letGo();
  expect([partition.isReading, [...membership.draining.keys()]]).toEqual([false, [ID]]);

  partition.offsets.done(5);
  partition.acknowledged(partition.commit(Infinity)!);
  assigned.letGo();
  expect(membership.draining.size).toBe(0);
});

test.each<[what: string, then: (string | undefined)[], expected: number[]]>([
  ['moves to another member', ['a'], []],
  ['moves while a broker lags behind and does not name its topic', [undefined, 'a'], []],
  ['is left over when its topic is made again', ['b'], [5]],
  ['had a topic that was deleted', [undefined], []],
  ['had a topic that was deleted, and is made again', [undefined, undefined, 'b'], [5]],
])('what was read of a partition that %s is gone, or not', async (_, then, expected) => {
  const log: Parameters<typeof setUp>[0]['log'] = { low: 0, high: 10 };
  const { assigned, partition, madeAgain } = await setUp({ log });
  partition.position.askFrom({ topicId: 'a', epoch: 0 });
  [log.topicId] = then;
  assigned.enter('member', new Map());
  assigned.letGo();
  expect(assigned.partitions.size).toBe(0);
  for (log.topicId of then) assigned.noteTopics();
  expect(madeAgain).toEqual(expected);
});

test.each<[string, TopicPartition[]]>([
  ['is assigned again', [PLACE]],
  ['goes to another member', []],
])(
  'a partition of a lost session whose topic is made again is cut off when it %s',
  async (_, given) => {
    const options = { committed: 5, log: { low: 0, high: 10, topicId: 'a' } };
    const { assigned, partition, madeAgain } = await setUp(options);
    partition.position.askFrom({ topicId: 'a', epoch: 0 });
    // Kafka deletes the commits of a topic with it.
    options.committed = -1;
    options.log.topicId = 'b';
    assigned.enter('a new member', new Map(given.map((place) => [ID, place])));
    await eventually(() => expect(madeAgain).toEqual([5]));
    expect(assigned.partitions.get(ID)).not.toBe(partition);
  },
);

test('a cut partition without a leader goes on at its cut later, not at 0', async () => {
  const metadata = encodeNote(5, { owner: 1, last: LAST, runs: [] }, MOST_NOTE_BYTES);
  const log = { low: 0, high: 10, led: false };
  const { assigned, partition, cut, ...noted } = await setUp({ log, metadata, cutAt: () => 3 });
  void assigned.goOnAfterCut(ID, partition);
  await eventually(() => expect(noted.looks()).toBeGreaterThan(1));
  expect(noted.refreshes()).toBeGreaterThan(0);
  expect([cut, partition.position.next]).toEqual([[], 5]);
  log.led = true;
  await eventually(() => expect(cut).toEqual([{ offsets: 2, from: 3 }]));
  expect([partition.position.next, partition.position.fetchFrom]).toEqual([3, 2]);
});

test('the start of a log is looked up at the leader of now', async () => {
  const log: Parameters<typeof setUp>[0]['log'] = { low: 0, high: 10 };
  const { assigned, refreshes } = await setUp({ committed: -1, log });
  log.led = false;
  assigned.enter('member', new Map([[idOf({ topic: 't', number: 7 }), { topic: 't', number: 7 }]]));
  await eventually(() => expect(refreshes()).toBeGreaterThan(0));
  expect(assigned.partitions.has('t/7')).toBe(false);
  log.led = true;
  await eventually(() => expect(assigned.partitions.has('t/7')).toBe(true));
});

test('a partition taken back after a lost session is read, although a look-up failed', async () => {
  const log = { low: 0, high: 10, led: false };
  let held: Promise<void> | undefined;
  const { assigned, partition, looks } = await setUp({
    log,
    hold: () => held ?? Promise.resolve(),
  });
  jest.useFakeTimers();
  try {
    let goOn: () => void = () => undefined;
    held = new Promise((resolve) => (goOn = resolve));
    let rests = true;
    void assigned.goOnInRange(ID, partition).then(() => (rests = false));
    await jest.advanceTimersByTimeAsync(0);
    expect([looks(), rests]).toEqual([1, true]);
    assigned.enter('a new member', new Map([[ID, PLACE]]));
    await jest.advanceTimersByTimeAsync(1_000);
    goOn();
    await jest.advanceTimersByTimeAsync(1_000);
    expect([assigned.partitions.get(ID), rests]).toEqual([partition, false]);
  } finally {
    jest.useRealTimers();
  }
});

test('after the end of the consumer nothing is looked up any more', async () => {
  const log = { low: 0, high: 10, led: false };
  let fails = false;
  const { assigned, partition, asked, looks } = await setUp({
    log,
    hold: () => (fails ? Promise.reject(new Error('away')) : Promise.resolve()),
  });
  jest.useFakeTimers();
  try {
    fails = true;
    const more = { topic: 't', number: 7 };
    assigned.enter('member', new Map([PLACE, more].map((place) => [idOf(place), place])));
    void assigned.goOnInRange(ID, partition);
    await jest.advanceTimersByTimeAsync(1_000);
    const before = [asked.length, looks()];
    assigned.end();
    await jest.advanceTimersByTimeAsync(1_000);
    expect([asked.length, looks()]).toEqual(before);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

// Its owner meanwhile may have met a cut, of which this member knows nothing.
test('a partition that another member had begins anew, unlike one that is taken back', async () => {
  const commit = { committed: 5, log: { low: 0, high: 10 } };
  const { assigned, partition, restarted } = await setUp(commit);
  const given = new Map([[ID, PLACE]]);
  partition.offsets.take(5);
  assigned.enter('a new member', given);
  await eventually(() => expect(assigned.partitions.get(ID)).toBe(partition));
  expect(restarted).toEqual([]);
  assigned.enter('a new member', new Map());
  partition.offsets.done(5);
  partition.acknowledged(partition.commit(Infinity)!);
  assigned.letGo();
  commit.committed = 7;
  assigned.enter('a new member', given);
  await eventually(() => expect(assigned.partitions.has(ID)).toBe(true));
  expect(restarted).toEqual([{ number: 0, from: 7 }]);
});

test('a cut partition is taken back after a lost session, and told of no second cut', async () => {
  const { assigned, partition, cut, restarted } = await setUp({
    committed: 5,
    metadata: encodeNote(5, { owner: 1, last: LAST, runs: [] }, MOST_NOTE_BYTES),
    log: { low: 0, high: 10 },
    cutAt: () => 3,
  });
  await assigned.goOnAfterCut(ID, partition);
  assigned.enter('a new member', new Map([[ID, PLACE]]));
  await eventually(() => expect(assigned.partitions.get(ID)).toBe(partition));
  expect([cut, restarted]).toEqual([[{ offsets: 2, from: 3 }], []]);
});

describe('a record in flight', () => {
  /** Returns the record at offset 5, which was read, and its state. */
  async function inFlight(cutAt: () => number) {
    const set = await setUp({ log: { low: 0, high: 10 }, cutAt });
    const { assigned, partition } = set;
    partition.offsets.take(5);
    partition.position.read({ offset: 5, epoch: 0, timestamp: 1_000 }, 6);
    const batch = { buffer: Buffer.alloc(0), isHidden: false, epoch: 0 };
    const record = new ConsumedRecord(partition, new FetchedRecord(batch, 0, 5, 0));
    const state = () => ({ revoking: record.isRevoking, inDoubt: record.isInDoubt });
    const cut = () => assigned.goOnAfterCut(ID, partition);
    return { ...set, record, state, cut };
  }

  test('is in doubt while its session is', async () => {
    const { assigned, session, state } = await inFlight(() => 10);
    assigned.stopAll();
    expect(state()).toEqual({ revoking: true, inDoubt: false });
    session.isInDoubt = true;
    expect(state()).toEqual({ revoking: true, inDoubt: true });
    session.isInDoubt = false;
    assigned.goOnAll();
    expect(state()).toEqual({ revoking: false, inDoubt: false });
    session.isInDoubt = true;
    expect(state()).toEqual({ revoking: true, inDoubt: true });
  });

  test('that was cut off is not in doubt, and is unrelated to the one in its place', async () => {
    const { partition, session, record, state, cut } = await inFlight(() => 5);
    session.isInDoubt = true;
    await cut();
    // Nobody reads it again.
    expect(state()).toEqual({ revoking: true, inDoubt: false });
    partition.offsets.take(5);
    record.done();
    record.defer();
    expect([record.handBack(), partition.offsets.open]).toEqual([true, 1]);
  });

  test('below a cut is not read again, and is done as any other', async () => {
    const ends = [6, 3];
    const { partition, record, state, cut } = await inFlight(() => ends.shift()!);
    await cut();
    expect([state(), partition.position.next]).toEqual([{ revoking: false, inDoubt: false }, 6]);
    partition.offsets.take(6);
    record.done();
    expect([partition.offsets.committable, partition.offsets.open]).toEqual([6, 1]);
    await cut();
    expect([state(), partition.position.next]).toEqual([{ revoking: true, inDoubt: false }, 3]);
  });
});

describe('a fetch that finds no record', () => {
  test('behind the end of the log finds a cut', async () => {
    const { assigned, partition, cut } = await setUp({
      log: { low: 0, high: 2 },
      cutAt: () => 2,
    });
    await assigned.goOnInRange(ID, partition);
    expect([cut, partition.position.next]).toEqual([[{ offsets: 3, from: 2 }], 2]);
  });

  test('at the end of a log that has lost the last record finds a cut', async () => {
    const { assigned, partition, cut } = await setUp({
      log: { low: 0, high: 4 },
      cutAt: () => 1,
    });
    // The record at offset 4 was read.
    await assigned.goOnInRange(ID, partition);
    expect([cut, partition.position.next]).toEqual([[{ offsets: 4, from: 1 }], 1]);
  });

  test('at the end of a log that is whole asks again', async () => {
    const { assigned, partition, cut } = await setUp({ log: { low: 0, high: 5 } });
    await assigned.goOnInRange(ID, partition);
    expect([cut, partition.position.fetchFrom]).toEqual([[], 4]);
  });

  test('before the start of the log goes on there, which is no cut', async () => {
    const { assigned, partition, cut } = await setUp({ log: { low: 8, high: 10 } });
    await assigned.goOnInRange(ID, partition);
    expect([cut, partition.position.fetchFrom]).toEqual([[], 8]);
  });
});

test('deferred records that retention has deleted are reported, and not read again', async () => {
  const log = { low: 0, high: 10 };
  const { assigned, partition, missed } = await setUp({ committed: 0, log });
  for (let offset = 0; offset < 8; offset++) partition.offsets.take(offset);
  for (const offset of [0, 2, 6]) partition.offsets.release(offset);
  for (const offset of [1, 3, 4, 5, 7]) partition.offsets.done(offset);
  partition.position.compare(undefined);
  partition.position.read({ ...LAST, offset: 7 }, 8);
  log.low = 4;
  assigned.readDeferred();
  expect(partition.position.fetchFrom).toBe(0);
  await assigned.goOnInRange(ID, partition);
  expect(missed).toEqual([2]);
  expect([partition.position.fetchFrom, partition.offsets.committable]).toEqual([6, 6]);
});

test('a session that was in doubt, and is not lost, reads on at handed back records', async () => {
  const { assigned, partition } = await setUp({ committed: 0, log: { low: 0, high: 10 } });
  for (const offset of [0, 1, 2]) partition.offsets.take(offset);
  partition.position.compare(undefined);
  partition.position.read({ ...LAST, offset: 2 }, 3);
  assigned.stopAll();
  partition.release(1);
  expect(partition.isReading).toBe(false);
  assigned.goOnAll();
  expect([partition.isReading, partition.position.fetchFrom]).toEqual([true, 1]);
});

test('a partition whose start was looked up with the session in doubt waits for it', async () => {
  const { assigned, session } = await setUp({ log: { low: 0, high: 10 } });
  const more = { topic: 't', number: 7 };
  assigned.enter('member', new Map([PLACE, more].map((place) => [idOf(place), place])));
  session.mayRead = false;
  assigned.stopAll();
  const partition = await eventually(() => {
    expect(assigned.partitions.has(idOf(more))).toBe(true);
    return assigned.partitions.get(idOf(more))!;
  });
  expect(partition.isReading).toBe(false);
  session.mayRead = true;
  assigned.goOnAll();
  expect(partition.isReading).toBe(true);
});
