import { NO_ANSWER, NOT_CONNECTED } from '../../../../shared/kafka/produce/errors';
import { RecordAccumulator } from '../../../../shared/kafka/produce/accumulator';
import {
  type AccumulatorOptions,
  Closed,
  type Request,
} from '../../../../shared/kafka/produce/request';
import { type PendingSend } from '../../../../shared/kafka/produce/pending-sends';
import { type OutRecord } from '../../../../shared/kafka/port';

const OK = 0;
const NOT_ENOUGH_REPLICAS = 19;
const TOO_LARGE = 10;
const UNKNOWN_TOPIC = 3;
const TIMED_OUT = 7;
const UNAUTHORIZED = 29;
const BROKER_A = 1;
const BROKER_B = 2;

const ignore = () => undefined;
const aTicket = (): PendingSend => ({
  left: 1,
  settled: false,
  at: 0,
  resolve: ignore,
  reject: ignore,
});

/**
 * Returns an accumulator that knows topic `t`: broker A leads partitions 0 and 2, broker B 1 and 3.
 */
function start(options: Partial<AccumulatorOptions> = {}) {
  const accumulator = new RecordAccumulator({
    spillToOtherPartitions: false,
    holds: true,
    lingerMs: 0,
    lingerRequests: Infinity,
    ...options,
  });
  const learn = (leaders: number[], now: number, errorCode = 0) => {
    const partitions = leaders.map((leader) => ({ leader, epoch: 0 }));
    return accumulator.learned(new Map([['t', { errorCode, id: 'a', partitions }]]), now, now);
  };
  const put = (value: string, at: Partial<OutRecord> & { bytes?: number } = {}, now = 0) => {
    const { bytes = 10, ...where } = at;
    const record: OutRecord = { topic: 't', key: null, value, ...where };
    const ticket = aTicket();
    const queue = accumulator.find(record, now);
    if (queue instanceof Closed) return queue;
    accumulator.push({ record, bytes, ticket, unsure: false }, queue);
    return ticket;
  };
  put('first', { partition: 0 });
  learn([BROKER_A, BROKER_B, BROKER_A, BROKER_B], 0);
  const [request] = accumulator.next(0).requests;
  accumulator.answered(request!, [OK], 0);
  return { accumulator, learn, put };
}

/** Returns the records of a request, as `partition:value,value`. */
const shown = ({ parts }: Request) =>
  parts.map(
    ({ queue, items }) =>
      `${queue.partition}:${items.map(({ record }) => String(record.value)).join()}`,
  );
const sent = (accumulator: RecordAccumulator, now: number) => accumulator.next(now).requests;

describe('a topic that was made again', () => {
  test('with fewer partitions gets the records of those that it no longer has', () => {
    const { accumulator, learn, put } = start();
    put('names its partition', { partition: 3 });
    const [request] = sent(accumulator, 0);
    put('has a key', { key: '21' });
    accumulator.answered(request!, [UNKNOWN_TOPIC], 10);
    for (let now = 10; now < 2_000; now += 100) learn([], now, UNKNOWN_TOPIC);
    expect([...accumulator.blocked(2_000)].length).toBeGreaterThan(0);
    const refused = learn([BROKER_B], 2_000);
    expect(refused.map(({ item }) => item.record.value)).toEqual(['names its partition']);
    expect(sent(accumulator, 4_000).map(shown)).toEqual([['0:has a key']]);
    expect(accumulator.bytes).toBe(10);
  });

  test('with fewer partitions gets the records that were in flight', () => {
    const { accumulator, learn, put } = start();
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) put(key, { key });
    const requests = sent(accumulator, 0);
    learn([BROKER_A], 5);
    for (const request of requests) {
      accumulator.answered(
        request,
        request.parts.map(() => UNKNOWN_TOPIC),
        10,
      );
    }
    // Those of the partition that is left; the others wait for new metadata.
    const again = sent(accumulator, 5_000);
    expect(accumulator.stale).toBe(true);
    learn([BROKER_A], 5_000);
    for (const request of again) {
      accumulator.answered(
        request,
        request.parts.map(() => OK),
        5_010,
      );
    }
    const values = [...again, ...sent(accumulator, 6_000)].flatMap(({ parts }) =>
      parts.flatMap(({ items }) => items.map(({ record }) => record.value)),
    );
    expect(values.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect([...accumulator.blocked(40_000)]).toEqual([]);
  });

  test('is looked for until it is there, also while nothing is written to it', () => {
    const { accumulator, learn } = start();
    for (let now = 0; now < 2_000; now += 100) {
      learn([], now, UNKNOWN_TOPIC);
      expect(accumulator.stale).toBe(true);
    }
    expect([...accumulator.blocked(2_000)]).toMatchObject([{ topic: 't' }]);
    learn([BROKER_B], 2_000);
    expect([...accumulator.blocked(2_000)]).toEqual([]);
    expect(accumulator.stale).toBe(false);
  });

  test('with more partitions uses them all', () => {
    const { accumulator, learn, put } = start();
    learn([BROKER_A, BROKER_A, BROKER_A, BROKER_A, BROKER_A, BROKER_A], 5);
    for (let i = 0; i < 60; i++) put('x', { key: `key-${String(i)}` });
    const [request] = sent(accumulator, 10);
    expect(request!.parts).toHaveLength(6);
  });
});

describe('the answer to a request', () => {
  test('after a partial acknowledgement only the others are sent again, in their order', () => {
    const { accumulator, put } = start();
    for (const value of ['a', 'b']) for (const partition of [0, 2]) put(value, { partition });
    const [request] = sent(accumulator, 0);
    put('c', { partition: 2 });
    const { acknowledged } = accumulator.answered(request!, [OK, NOT_ENOUGH_REPLICAS], 1);
    expect(acknowledged.map(({ queue }) => queue.partition)).toEqual([0]);
    expect(accumulator.next(1)).toMatchObject({ requests: [], wakeAt: 51 });
    put('d', { partition: 0 });
    // The healthy partition has a separate request, and does not wait for the failing one.
    expect(sent(accumulator, 1).map(shown)).toEqual([['0:d']]);
    expect(sent(accumulator, 51).map((each) => [each.spare, ...shown(each)])).toEqual([
      [true, '2:a,b,c'],
    ]);
  });

  test("a lingering request starts when Node's timer fires, at most 1 ms early", () => {
    const { accumulator, put } = start({ lingerMs: 8 });
    put('a', { partition: 0 });
    const [request] = sent(accumulator, 10);
    accumulator.answered(request!, [OK], 12);
    put('b', { partition: 0 });
    expect(accumulator.next(12)).toMatchObject({ requests: [], wakeAt: 18 });
    expect(accumulator.next(17)).toMatchObject({ requests: [], wakeAt: 18 });
    expect(sent(accumulator, 17.1).map(shown)).toEqual([['0:b']]);
  });

  test.each([
    ['records linger for the given number of usual durations while requests are quick', 6, 1, 6],
    ['records linger for no longer than lingerMs while requests are slow', 6, 6, 8],
    [
      'without that number records linger for lingerMs, also if requests take no time',
      Infinity,
      0,
      8,
    ],
  ])('%s', (_, lingerRequests, tookMs, expected) => {
    const { accumulator, put } = start({ lingerMs: 8, lingerRequests });
    const LEARNED = 40;
    for (let i = 1; i <= LEARNED; i++) {
      put('a', { partition: 0 });
      const [request] = sent(accumulator, 100 * i);
      accumulator.answered(request!, [OK], 100 * i + tookMs);
    }
    put('b', { partition: 0 });
    expect(accumulator.next(100 * LEARNED + 1).wakeAt - 100 * LEARNED).toBeCloseTo(expected, 1);
  });

  test('one refused record among several is isolated by halving, and returned alone', () => {
    const { accumulator, put } = start();
    for (const value of ['a', 'large', 'b', 'c']) put(value, { partition: 0 });
    const order: string[][] = [];
    const refused: string[] = [];
    for (let i = 0; i < 7; i++) {
      const [request] = sent(accumulator, 0);
      if (!request) break;
      const [values] = shown(request);
      order.push([values!]);
      const answer = accumulator.answered(request, [values!.includes('large') ? TOO_LARGE : OK], 0);
      refused.push(...answer.refused.map(({ item }) => String(item.record.value)));
    }
    expect(order.flat()).toEqual(['0:a,large,b,c', '0:a,large', '0:a', '0:large', '0:b,c']);
    expect(refused).toEqual(['large']);
    expect(accumulator.bytes).toBe(0);
  });

  test('a request that is refused as too large is sent again in halves', () => {
    const { accumulator, put } = start();
    for (let i = 0; i < 600; i++) put('a', { partition: 0 });
    const counts: number[] = [];
    for (let [request] = sent(accumulator, 0); request; [request] = sent(accumulator, 0)) {
      const count = request.parts[0]!.items.length;
      counts.push(count);
      expect(accumulator.answered(request, [count > 200 ? TOO_LARGE : OK], 0).refused).toEqual([]);
    }
    expect(counts).toEqual([600, 300, 150, 150, 150, 150]);
  });

  test('a missing answer does not change the order of the records', () => {
    const { accumulator, put } = start();
    put('a', { partition: 0 });
    const [request] = sent(accumulator, 0);
    put('b', { partition: 0 });
    accumulator.failed(request!, NO_ANSWER, 5);
    expect(accumulator.stale).toBe(true);
    expect(sent(accumulator, 60).map(shown)).toEqual([['0:a,b']]);
  });
});

test('a record is not sent again once its caller no longer waits', () => {
  const { accumulator, put } = start();
  const ticket = put('a', { partition: 0 }) as PendingSend;
  const [request] = sent(accumulator, 0);
  ticket.settled = true;
  accumulator.dropSettled();
  put('b', { partition: 0 });
  accumulator.failed(request!, NO_ANSWER, 0);
  expect(sent(accumulator, 60).map(shown)).toEqual([['0:b']]);
});

test('a leader that answers slowly delays no other leader', () => {
  const { accumulator, put } = start();
  put('a', { partition: 0 });
  expect(sent(accumulator, 0).map(shown)).toEqual([['0:a']]);
  put('b', { partition: 2 });
  put('c', { partition: 1 });
  expect(sent(accumulator, 0).map(shown)).toEqual([['1:c']]);
});

test('records wait while their partition has no leader', () => {
  const { accumulator, put, learn } = start();
  learn([-1, BROKER_B, BROKER_A, BROKER_B], 0);
  put('a', { partition: 0 });
  put('b', { partition: 1 });
  expect(sent(accumulator, 0).map(shown)).toEqual([['1:b']]);
  expect(accumulator.stale).toBe(true);
  learn([BROKER_B, BROKER_B, BROKER_A, BROKER_B], 60);
  expect(sent(accumulator, 60).map(shown)).toEqual([['0:a']]);
});

/** Fails partition 0 until it is blocked. @returns the time of that */
function block(
  accumulator: RecordAccumulator,
  put: ReturnType<typeof start>['put'],
  code: number,
): number {
  put('blocked', { key: keyOf(0) });
  let now = 0;
  while (![...accumulator.blocked(0)].length) {
    const { requests, wakeAt } = accumulator.next(now);
    for (const request of requests) {
      accumulator.answered(
        request,
        request.parts.map(() => code),
        now,
      );
    }
    now = wakeAt === Infinity ? now + 1 : wakeAt;
  }
  return now;
}
const KEYS = new Map<number, string>();
/** Returns a key of this partition, of four. */
function keyOf(partition: number): string {
  for (let i = 0; !KEYS.has(partition); i++) {
    const { accumulator } = start();
    const queue = accumulator.find({ topic: 't', key: `k${i}`, value: '' }, 0);
    if (queue && !(queue instanceof Closed)) KEYS.set(queue.partition, `k${i}`);
  }
  return KEYS.get(partition)!;
}

describe('a blocked partition', () => {
  test('the records of a blocked partition do not count as pending, up to a limit', () => {
    const { accumulator, put } = start();
    block(accumulator, put, NOT_ENOUGH_REPLICAS);
    put('b', { partition: 0, bytes: 1_000_000 });
    expect([accumulator.bytes, accumulator.countedBytes]).toEqual([1_000_010, 0]);
    put('c', { partition: 0, bytes: 1_000_000 });
    expect(accumulator.countedBytes).toBe(2_000_010 - 1024 * 1024);
  });

  test('records of a blocked partition are diverted to its neighbour, if that is allowed', () => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    const now = block(accumulator, put, NOT_ENOUGH_REPLICAS);
    expect(sent(accumulator, now).map(shown)).toEqual([['1:blocked']]);
    // One request probes whether the partition accepts records again; the other records do not wait
    // for it.
    const probeAt = now + 1_000;
    put('probe', { key: keyOf(0) }, probeAt);
    put('other', { key: keyOf(0) }, probeAt);
    const [probe] = sent(accumulator, probeAt);
    expect(shown(probe!)).toEqual(['0:probe']);
  });

  test('records are diverted before a partition blocks, while a slow request retries it', () => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    for (const partition of [0, 2]) put('held', { partition });
    const [first] = sent(accumulator, 0);
    accumulator.answered(first!, [NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS], 0);
    // One request retries both, and its answer waits for the slower one.
    expect(sent(accumulator, 50).map(shown)).toEqual([['0:held', '2:held']]);
    put('waits', { key: keyOf(0) }, 1_000);
    put('diverted', { key: keyOf(0) }, 1_100);
    expect(sent(accumulator, 1_100).map(shown)).toEqual([['1:diverted']]);
  });

  test.each([
    ['a broker that gives no answer', [BROKER_A, BROKER_A, BROKER_A, BROKER_A], []],
    [
      'a broker that gives no answer, beside partitions without a leader',
      [BROKER_A, -1, BROKER_A, -1],
      [],
    ],
    [
      'a broker that gives no answer, beside another broker',
      [BROKER_A, BROKER_A, BROKER_A, BROKER_B],
      ['3:late'],
    ],
  ])(
    'records are diverted only to partitions of a broker that answers: %s',
    (_, leaders, elsewhere) => {
      const { accumulator, put, learn } = start({ spillToOtherPartitions: true });
      learn(leaders, 0);
      put('first', { key: keyOf(0) });
      let now = 0;
      for (; ![...accumulator.blocked(now)].length; now += 50) {
        for (const request of sent(accumulator, now)) accumulator.failed(request, NO_ANSWER, now);
      }
      put('late', { key: keyOf(0) }, now);
      expect(sent(accumulator, now).map(shown)).toEqual(elsewhere.map((each) => [each]));
    },
  );

  test('a blocked partition is retried at once when its broker acknowledges another one', () => {
    const { accumulator, put, learn } = start({ spillToOtherPartitions: true, holds: false });
    learn([BROKER_A, BROKER_A, BROKER_A, BROKER_A], 0);
    for (const partition of [0, 2]) put('held', { partition });
    let now = 0;
    for (; [...accumulator.blocked(now)].length < 2; now += 50) {
      for (const request of sent(accumulator, now)) accumulator.failed(request, NOT_CONNECTED, now);
    }
    expect(put('refused', { key: keyOf(0) }, now)).toBeInstanceOf(Closed);
    // A partition without records since is written first, over the other connection.
    put('other', { partition: 1 }, now);
    const [other] = sent(accumulator, now);
    expect(shown(other!)).toEqual(['1:other']);
    accumulator.answered(other!, [OK], now);
    expect([...accumulator.blocked(now)]).toEqual([]);
    put('late', { key: keyOf(0) }, now);
    expect(sent(accumulator, now).map(shown)).toEqual([['0:held,late', '2:held']]);
  });

  test('a blocked partition keeps its records and retries at once when it has a leader', () => {
    const { accumulator, put, learn } = start({ spillToOtherPartitions: true });
    learn([-1, BROKER_A, BROKER_A, BROKER_A], 0);
    put('held', { partition: 0 });
    let now = 0;
    for (; ![...accumulator.blocked(now)].length; now += 50) sent(accumulator, now);
    learn([BROKER_A, BROKER_A, BROKER_A, BROKER_A], now);
    put('late', { key: keyOf(0) }, now);
    expect(sent(accumulator, now).map(shown)).toEqual([['0:held,late']]);
  });

  test('a partition without a leader is blocked after a second, even if metadata repeats', () => {
    const { accumulator, put, learn } = start({ spillToOtherPartitions: true });
    const leaders = [-1, BROKER_A, BROKER_A, BROKER_A];
    learn(leaders, 0);
    put('held', { key: keyOf(0) });
    for (let now = 0; now <= 2_000; now += 50) {
      for (const request of sent(accumulator, now)) accumulator.answered(request, [OK], now);
      learn(leaders, now);
    }
    expect([...accumulator.blocked(2_000)]).toHaveLength(1);
    put('late', { key: keyOf(0) }, 2_000);
    expect(sent(accumulator, 2_000).map(shown)).toEqual([['1:late']]);
  });

  test('a record that may have been written stays in its blocked partition', () => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    const now = block(accumulator, put, TIMED_OUT);
    expect(sent(accumulator, now + 1_000).map(shown)).toEqual([['0:blocked']]);
  });

  test('a record that names its partition stays in it while it is blocked', () => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    const now = block(accumulator, put, NOT_ENOUGH_REPLICAS);
    put('named', { partition: 0 }, now);
    expect(sent(accumulator, now + 1_000).map(shown)).toEqual(
      expect.arrayContaining([['0:named']]),
    );
  });

  test('a partition without further records is no longer reported as blocked after a while', () => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    const now = block(accumulator, put, NOT_ENOUGH_REPLICAS);
    expect([...accumulator.blocked(now + 1_000)]).toHaveLength(1);
    expect([...accumulator.blocked(now + 60_000)]).toEqual([]);
  });

  test('a look at the blocked partitions does not change them', () => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    const now = block(accumulator, put, NOT_ENOUGH_REPLICAS);
    expect([...accumulator.blocked(now + 60_000)]).toEqual([]);
    expect([...accumulator.blocked(now)]).toHaveLength(1);
  });

  test('with a delivery timeout a record is refused at once if no partition accepts any', () => {
    const { accumulator, put, learn } = start({ spillToOtherPartitions: true, holds: false });
    learn([BROKER_A, BROKER_A, BROKER_A, BROKER_A], 0);
    for (let now = 0; now < 2_000; now += 50) {
      for (const partition of [0, 1, 2, 3]) if (now === 0) put('a', { partition });
      for (const request of sent(accumulator, now)) accumulator.failed(request, NOT_CONNECTED, now);
    }
    expect([...accumulator.blocked(0)]).toHaveLength(4);
    expect(put('b', { key: 'k' }, 1_990)).toBeInstanceOf(Closed);
  });
});

describe('a topic that refuses records until an operator changes something', () => {
  test('with a delivery timeout the producer returns records that their topic refuses', () => {
    const { accumulator, put } = start({ holds: false });
    put('a', { partition: 0 });
    const given: string[] = [];
    for (let now = 0; now < 3_000; now += 50) {
      for (const request of sent(accumulator, now)) {
        const { refused } = accumulator.answered(request, [UNAUTHORIZED], now);
        given.push(...refused.map(({ error }) => error.name));
      }
    }
    expect(given).toEqual(['TOPIC_AUTHORIZATION_FAILED']);
    expect(accumulator.bytes).toBe(0);
  });

  test.each([
    ['TOPIC_AUTHORIZATION_FAILED', UNAUTHORIZED],
    ['INVALID_TIMESTAMP', 32],
    ['UNSUPPORTED_FOR_MESSAGE_FORMAT', 43],
    ['POLICY_VIOLATION', 44],
  ])('with unlimited retries records are held and written later: %s', (_, code) => {
    const { accumulator, put } = start({ spillToOtherPartitions: true });
    const now = block(accumulator, put, code);
    const [request] = sent(accumulator, now + 1_000);
    expect(accumulator.answered(request!, [OK], now + 1_000).acknowledged).toHaveLength(1);
    expect([...accumulator.blocked(0)]).toEqual([]);
  });

  test('records of a missing topic wait for its creation for a second, and are returned', () => {
    const { accumulator, learn } = start({ holds: false });
    const record = { topic: 'new', key: 'k', value: 'a' };
    const item = { record, bytes: 10, ticket: aTicket(), unsure: false };
    accumulator.push(item, undefined);
    const missing = new Map([['new', { errorCode: UNKNOWN_TOPIC, id: '', partitions: [] }]]);
    expect(accumulator.learned(missing, 0, 0)).toEqual([]);
    expect(accumulator.stale).toBe(true);
    expect(accumulator.learned(missing, 1_100, 1_100)).toMatchObject([
      { error: { name: 'UNKNOWN_TOPIC_OR_PARTITION' } },
    ]);
    expect(learn([BROKER_A], 0)).toEqual([]);
  });
});

test('a record for a missing partition is returned, or waits until the partition exists', () => {
  const { accumulator, put, learn } = start();
  put('a', { partition: 7 });
  expect(sent(accumulator, 0)).toEqual([]);
  expect(learn([BROKER_A, BROKER_B, BROKER_A, BROKER_B], 0)).toEqual([]);
  expect(learn([BROKER_A, BROKER_B, BROKER_A, BROKER_B], 1_100)).toMatchObject([
    { error: { fate: 'record' } },
  ]);
  put('b', { partition: 4 }, 1_200);
  learn([BROKER_A, BROKER_B, BROKER_A, BROKER_B, BROKER_A], 1_300);
  expect(sent(accumulator, 1_300).map(shown)).toEqual([['4:b']]);
});
