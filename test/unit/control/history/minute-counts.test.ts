import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import {
  addColumns,
  columnsOf,
  type Counts,
  type MinuteCount,
  countsOf,
  CountSums,
  percentile,
} from '../../../../services/control/history/minute-counts';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import {
  aCancellation,
  aDeath,
  aFailure,
  anEvent,
  at,
  aUrl,
  aWait,
  START,
} from '../../../support/events';

const late = (outcome: 'delivered' | 'retry') =>
  anEvent({ late: true, urls: [aUrl({ url: 'whk_2', outcome })] });

function counted(...events: DeliveryEvent[]): Record<string, number> {
  const counts: MinuteCount[] = [];
  let row: DeliveryRow | undefined;
  for (const event of events) {
    const next = applyEvent(row, event);
    counts.push(...countsOf(row, next));
    row = next;
  }
  const totals: Record<string, number> = {};
  for (const { what, count } of counts) {
    const name = what.split(':')[0]!;
    totals[name] = (totals[name] ?? 0) + count;
  }
  return totals;
}

test.each<[string, DeliveryEvent[], Record<string, number>]>([
  [
    'a delivery counts as an attempt and a delivery',
    [anEvent()],
    { attempts: 1, delivered: 1, took: 1 },
  ],
  [
    'a delivery that is read twice counts once',
    [anEvent(), anEvent()],
    { attempts: 1, delivered: 1, took: 1 },
  ],
  ['a wait does not count', [aWait()], {}],
  [
    'a wait whose requests were withheld counts as no attempt, and the attempt after it counts',
    [
      aWait({ reason: 'token', urls: [aUrl({ outcome: 'retry' })] }),
      aWait({ reason: 'token', hop: 1, at: at(30), urls: [aUrl({ outcome: 'retry' })] }),
      anEvent({ hop: 2, at: at(60) }),
    ],
    { attempts: 1, delivered: 1, took: 1 },
  ],
  [
    'a failure and its dead letter both count',
    [aFailure(), aDeath({ hop: 1, at: at(9) })],
    { attempts: 1, failed: 1, dead: 1 },
  ],
  ['a cancellation counts', [aCancellation()], { cancelled: 1 }],
  ['a test does not count', [anEvent({ test: true })], {}],
  ['an alert does not count', [anEvent({ destination: 'alerts' })], {}],
  [
    'an addition to an attempt does not count',
    [anEvent(), anEvent({ late: true, urls: [] })],
    { attempts: 1, delivered: 1, took: 1 },
  ],
  [
    'a dead letter that was replayed counts no more, and its delivery counts without its duration',
    [aDeath(), aWait({ replay: 1, reason: 'replayed' }), anEvent({ replay: 1, at: at(90) })],
    { dead: 0, attempts: 1, delivered: 1 },
  ],
  [
    'a delivery whose second URL fails late counts as delivered and as partly delivered',
    [anEvent(), late('retry')],
    { attempts: 1, delivered: 1, took: 1, partly: 1 },
  ],
  [
    'a partly delivered one counts as whole once a replay has reached the other URL',
    [
      anEvent(),
      late('retry'),
      anEvent({ replay: 1, at: at(90), urls: [aUrl({ url: 'whk_2' })], notCalled: ['whk_1'] }),
    ],
    { attempts: 2, delivered: 1, took: 1, partly: 0 },
  ],
])('%s', (_, events, expected) => {
  expect(counted(...events)).toEqual(expected);
});

test('an event counts in its minute', () => {
  const row = applyEvent(undefined, anEvent({ at: at(61) }));
  expect(new Set(countsOf(undefined, row).map(({ minute }) => minute))).toEqual(
    new Set([START + 60_000]),
  );
});

test('counts of the same destination, minute and kind are added', () => {
  const one = { destination: 'a', minute: 0, what: 'dead', count: 1 };
  const sums = new CountSums([one, { ...one, count: 2 }, { ...one, destination: 'b' }]);
  sums.add({ ...one, minute: 60_000 });
  sums.add({ ...one, minute: 60_000, count: -1 });
  expect(sums.all()).toEqual([
    { destination: 'a', minute: 0, counts: new Map([['dead', 3]]) },
    { destination: 'b', minute: 0, counts: new Map([['dead', 1]]) },
  ]);
});

test('a row of the database has all counts, and rows are added', () => {
  const row = { attempts: 3, failed: 1, delivered: 2, partly: 0, dead: 0, cancelled: 0 };
  const counts: Counts = new Map();
  addColumns(counts, { ...row, took: '17:1 22:1' });
  addColumns(counts, { ...row, took: '' });
  // As the database puts the times of several rows behind each other.
  addColumns(counts, { ...row, took: ' 22:1 17:-1  9:10' });
  expect(columnsOf(counts)).toEqual({
    attempts: 9,
    failed: 3,
    delivered: 6,
    partly: 0,
    dead: 0,
    cancelled: 0,
    took: '22:2 9:10',
  });
});

test('the buckets of a month are added once, and not part by part', () => {
  const counts: Counts = new Map();
  const set = jest.spyOn(counts, 'set');
  const hour = Array.from({ length: 25 }, (_, i) => `${String(20 + i)}:${String(i + 1)}`);
  const took = Array<string[]>(720).fill(hour).flat().join(' ');
  addColumns(counts, { ...columnsOf(new Map()), took });
  expect(set.mock.calls.length).toBeLessThan(50);
  expect([counts.get('took:20'), counts.get('took:44')]).toEqual([720, 18_000]);
});

describe('a percentile', () => {
  const buckets = (times: number[]) => {
    const sums = new CountSums();
    for (const ms of times) {
      const settled = { ...anEvent(), at: new Date(START + ms).toISOString() };
      for (const count of countsOf(undefined, applyEvent(undefined, settled))) {
        sums.add({ ...count, minute: 0 });
      }
    }
    return sums.all()[0]!.counts;
  };

  test('the percentile is null if nothing was delivered', () => {
    expect(percentile(new Map([['dead', 3]]), 0.5)).toBeNull();
  });

  test.each([1, 7, 40, 333, 5_000, 86_400_000])(
    'the percentile is within a fifth of %d ms',
    (ms) => {
      expect(Math.abs(percentile(buckets([ms]), 0.5)! / ms - 1)).toBeLessThan(0.2);
    },
  );

  test('the percentile counts from the fastest', () => {
    const times = buckets([
      ...Array.from({ length: 95 }, () => 10),
      ...Array.from({ length: 5 }, () => 1_000),
    ]);
    expect(percentile(times, 0.5)).toBeLessThan(15);
    expect(percentile(times, 0.95)).toBeLessThan(15);
    expect(percentile(times, 0.96)).toBeGreaterThan(800);
  });
});
