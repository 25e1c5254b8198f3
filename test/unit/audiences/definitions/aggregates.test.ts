import {
  bucketMs,
  changesAt,
  count,
  type Counter,
  type CounterSpec,
  MAX_VALUES,
  valueOf,
} from '../../../../services/audiences/definitions/aggregates';
import { ExactNumber } from '../../../../shared/json/json';
import { type Json } from '../../../../shared/model/message';
import { trustedSourcesOf } from '../../../../services/audiences/definitions/trusted-sources';

const HOUR = 3_600_000;
const spec = (part: Partial<CounterSpec>): CounterSpec => ({
  id: 'c',
  compute: 'count',
  event: 'Buy',
  ...part,
});

const recordAt = (offset: number) => ({ offset, epoch: 0, timestamp: 0 });

/** Events of one user, each [at, total]. */
function counted(
  of: CounterSpec,
  events: readonly (readonly [atMs: number, total: Json])[],
  nowMs = 0,
): Counter | undefined {
  let counter: Counter | undefined;
  for (const [offset, [atMs, total]] of events.entries()) {
    const event = { source: 's', event: 'Buy', properties: { total, deep: { in: total } }, atMs };
    counter = count(of, counter, event, { record: recordAt(offset), nowMs }) ?? counter;
  }
  return counter;
}

test.each<[Partial<CounterSpec>, Json[], Json]>([
  [{ compute: 'count' }, [1, 'a', null], 3],
  [{ compute: 'count', property: 'total' }, [1, 'a', null], 2],
  [{ compute: 'sum', property: 'total' }, [1, '2', 3.5, true], 4.5],
  [{ compute: 'min', property: 'total' }, [3, -1, 2], -1],
  [{ compute: 'max', property: 'deep.in' }, [3, -1, 2], 3],
  [{ compute: 'first', property: 'total' }, ['a', 'b'], 'a'],
  [{ compute: 'last', property: 'total' }, ['a', 'b', { no: 1 }], 'b'],
  [{ compute: 'last' }, ['a', 'b'], 1],
  [{ compute: 'unique', property: 'total' }, ['b', 'a', 'b', 2, 10], ['a', 'b', 2, 10]],
  [{ compute: 'most_frequent', property: 'total' }, ['b', 'a', 'b'], 'b'],
  [
    { compute: 'sum', property: 'total' },
    [1, new ExactNumber('1e400'), new ExactNumber('2.50000000000000000001')],
    3.5,
  ],
  [
    { compute: 'max', property: 'total' },
    [1, new ExactNumber('9007199254740993')],
    9007199254740992,
  ],
  [
    { compute: 'first', property: 'total' },
    [new ExactNumber('9007199254740993')],
    new ExactNumber('9007199254740993'),
  ],
  [
    { compute: 'most_frequent', property: 'total' },
    [
      '9007199254740993',
      ...['9007199254740993', '9007199254740993'].map((digits) => new ExactNumber(digits)),
      2,
    ],
    new ExactNumber('9007199254740993'),
  ],
  [
    { compute: 'unique', property: 'total' },
    [
      ...['9007199254740995', '9007199254740993', '9007199254740995'].map(
        (digits) => new ExactNumber(digits),
      ),
      2,
    ],
    [2, new ExactNumber('9007199254740993'), new ExactNumber('9007199254740995')],
  ],
  [{ compute: 'most_frequent', property: 'total' }, ['b', 'a'], 'a'],
  [{ compute: 'max', property: 'total' }, ['a'], null],
  [{ compute: 'sum', property: 'total' }, [], 0],
])("'%j of the events %j is %j'", (part, totals, expected) => {
  const of = spec(part);
  const value = valueOf(
    of,
    counted(
      of,
      totals.map((total, i) => [i, total]),
    ),
    0,
  );
  expect(value).toEqual(expected);
});

test('an event counts for its whole window, and for at most one bucket longer', () => {
  const of = spec({ windowMs: 64 * HOUR });
  expect(bucketMs(64 * HOUR)).toBe(HOUR);
  const at = 1_000 * HOUR + 1;
  const counter = counted(of, [[at, 1]], at)!;
  const leaves = changesAt(of, counter, at)!;
  expect(valueOf(of, counter, leaves - 1)).toBe(1);
  expect(valueOf(of, counter, leaves)).toBe(0);
  expect(leaves - at).toBeGreaterThanOrEqual(64 * HOUR);
  expect(leaves - at).toBeLessThanOrEqual(65 * HOUR);
});

test('a counter drops events from before its window, and holds at most 66 buckets', () => {
  const of = spec({ windowMs: 64 * HOUR });
  const events = Array.from({ length: 500 }, (_, i) => [i * HOUR, 1] as const);
  const counter = counted(of, events, 499 * HOUR)!;
  expect(counter.buckets.length).toBeLessThanOrEqual(66);
});

test('an event that is read again is not counted again', () => {
  const of = spec({});
  const event = { source: 's', event: 'Buy', properties: {}, atMs: 0 };
  const once = count(of, undefined, event, { record: recordAt(5), nowMs: 0 })!;
  expect(count(of, once, event, { record: recordAt(5), nowMs: 0 })).toBeUndefined();
  expect(count(of, once, event, { record: recordAt(4), nowMs: 0 })).toBeUndefined();
  // The log was cut, and another record has the offset.
  const record = { offset: 4, epoch: 1, timestamp: 7 };
  expect(valueOf(of, count(of, once, event, { record, nowMs: 0 }), 0)).toBe(2);
});

test('above the limit of values, the rarest are dropped', () => {
  const of = spec({ compute: 'most_frequent', property: 'total' });
  const events = Array.from(
    { length: 1_000 },
    (_, i) => [i, i % 3 === 0 ? 'often' : `v${i}`] as const,
  );
  const counter = counted(of, events)!;
  expect((counter.buckets[0]![1] as unknown[]).length).toBe(MAX_VALUES);
  expect(valueOf(of, counter, 0)).toBe('often');
});

test('events of sources that the definition does not name are not counted', () => {
  const of = spec({ sources: trustedSourcesOf(['other'], new Set()) });
  expect(counted(of, [[0, 1]])).toBeUndefined();
});
