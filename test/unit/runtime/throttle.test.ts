import { TokenBuckets } from '../../../shared/runtime/load-limits';

const RATE = { perSecond: 10, burst: 20 };

test('a bucket gives its burst at once, and then its rate', () => {
  const buckets = new TokenBuckets(10);
  let taken = 0;
  for (let now = 0; now < 10_000; now++) {
    while (buckets.waitMs('a', RATE, now) === 0) {
      buckets.take('a', 1, RATE, now);
      taken++;
    }
  }
  expect(taken).toBe(20 + 10 * 10 - 1);
});

test('a cost above the burst passes once, and its debt closes the key until paid back', () => {
  const buckets = new TokenBuckets(10);
  expect(buckets.waitMs('a', RATE, 0)).toBe(0);
  buckets.take('a', 119, RATE, 0);
  expect(buckets.waitMs('a', RATE, 0)).toBe(10_000);
  expect(buckets.waitMs('a', RATE, 9_999)).toBeGreaterThan(0);
  expect(buckets.waitMs('a', RATE, 10_000)).toBe(0);
});

test('a rate below one a second still lets one pass', () => {
  const buckets = new TokenBuckets(10);
  const slow = { perSecond: 0.1, burst: 0.1 };
  expect(buckets.waitMs('a', slow, 0)).toBe(0);
  buckets.take('a', 1, slow, 0);
  expect(buckets.waitMs('a', slow, 0)).toBe(10_000);
});

test('keys have a bucket each', () => {
  const buckets = new TokenBuckets(10);
  buckets.take('a', 100, RATE, 0);
  expect(buckets.waitMs('b', RATE, 0)).toBe(0);
});

test('a raised rate pays a debt back sooner', () => {
  const buckets = new TokenBuckets(10);
  buckets.take('a', 119, RATE, 0);
  expect(buckets.waitMs('a', { perSecond: 100, burst: 20 }, 0)).toBe(1_000);
});

test('a clock that is set back changes nothing', () => {
  const buckets = new TokenBuckets(10);
  buckets.take('a', 20, RATE, 10_000);
  expect(buckets.waitMs('a', RATE, 0)).toBe(100);
});

test('beyond the most keys the oldest is forgotten', () => {
  const buckets = new TokenBuckets(2);
  for (const key of ['a', 'b', 'c']) buckets.take(key, 100, RATE, 0);
  expect(['a', 'b', 'c'].map((key) => buckets.waitMs(key, RATE, 0) > 0)).toEqual([
    false,
    true,
    true,
  ]);
});

test('a bucket holds its burst at first, and what has been added since', () => {
  const buckets = new TokenBuckets(10);
  expect([20, 21].map((count) => buckets.holds('a', count, RATE, 0))).toEqual([true, false]);
  buckets.take('a', 15, RATE, 0);
  expect([5, 6].map((count) => buckets.holds('a', count, RATE, 0))).toEqual([true, false]);
  expect([15, 16].map((count) => buckets.holds('a', count, RATE, 1_000))).toEqual([true, false]);
});

test('a bucket gives the whole tokens that it holds, and none in debt', () => {
  const buckets = new TokenBuckets(10);
  const taken = [
    [15, 0],
    [15, 0],
    [15, 0],
    [15, 199],
    [15, 10_000],
    [15, 10_000],
  ].map(([most, now]) => buckets.takeUpTo('a', most!, RATE, now!));
  expect(taken).toEqual([15, 5, 0, 1, 15, 5]);
  buckets.take('a', 3, RATE, 10_000);
  expect(buckets.takeUpTo('a', 1, RATE, 10_300)).toBe(0);
  expect(buckets.takeUpTo('a', 0, RATE, 10_400)).toBe(0);
  expect(buckets.takeUpTo('a', 9, RATE, 10_400)).toBe(1);
});
