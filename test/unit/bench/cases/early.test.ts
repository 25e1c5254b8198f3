import { deliveryId } from '../../../../shared/model/delivery';
import { departureOf } from '../../../../tools/bench/cases/early';

/** The figures of deliveries that leave early, from the times of arrivals. */

const CUSTOMER = { sourceId: 'src', destinationId: 'dst', authorization: '' };
const reading = (atMs: number, retry: number) => ({
  atMs,
  byName: { retry },
  machine: undefined,
  stolen: undefined,
});
const waiting = (name: string, i: number) => deliveryId('src', `bench-${name}-${i}`, 'dst');

const SPAN = {
  customer: CUSTOMER,
  own: ['own-1', 'own-2'],
  fromMs: 1_000,
  readings: [reading(1_000, 1), reading(2_000, 2), reading(4_500, 4), reading(9_000, 9)],
  cancelled: { count: 0, firstMs: NaN, lastMs: NaN },
};
const sentAt = new Map(
  Object.entries({ before: 999, a: 1_000, b: 3_999, lost: 2_000, after: 4_000 }),
);
const flow = Object.entries({ before: 1_500, a: 1_010, b: 4_019, after: 9_900 });

test('what a user sends now leaves from the request on', () => {
  const arrivals = new Map([
    ...flow,
    [waiting('sent now', 0), 1_300],
    [waiting('sent now', 2), 4_000],
  ]);
  const departure = departureOf({ ...SPAN, name: 'sent now' }, { count: 3, sentAt, arrivals });
  expect(departure).toMatchObject({ firstMs: 300, lastMs: 3_000, missing: 1 });
  expect(departure.others).toEqual({ count: 2, p50Ms: 10, p99Ms: 20, maxMs: 20 });
  expect(departure.cpu).toMatchObject({ seconds: 3.5, byName: { retry: 3 } });
});

test('what waited for a circuit leaves from the first delivery on', () => {
  const arrivals = new Map([
    ['own-1', 900],
    ['own-2', 2_000],
    [waiting('recovered', 0), 2_700],
    [waiting('recovered', 1), 5_000],
  ]);
  expect(departureOf({ ...SPAN, name: 'recovered' }, { count: 2, sentAt, arrivals })).toMatchObject(
    { firstMs: 700, lastMs: 3_000, missing: 0 },
  );
});

test('what is cancelled arrives nowhere', () => {
  const cancelled = { count: 4, firstMs: 1_100, lastMs: 2_000 };
  expect(
    departureOf(
      { ...SPAN, name: 'cancelled', cancelled },
      { count: 5, sentAt, arrivals: new Map(flow) },
    ),
  ).toMatchObject({ firstMs: 100, lastMs: 1_000, missing: 1 });
});
