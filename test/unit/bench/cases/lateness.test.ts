import { Lateness } from '../../../../tools/bench/cases/lateness';

describe('lateness', () => {
  const lateness = new Lateness(1_000);
  for (const [id, sinceMs] of [
    ['a', 0],
    ['b', 100],
    ['c', 200],
    ['later', 5_000],
  ] as const) {
    lateness.waits(id, sinceMs);
  }
  lateness.isPut('a', 1_010);
  lateness.isPut('b', 1_150);
  lateness.isPut('b', 9_000);
  lateness.isPut('stranger', 1_000);

  test('lateness is the time from the due time to the first copy', () =>
    expect(lateness.between(1_000, 2_000)).toEqual({
      count: 3,
      p50Ms: 10,
      p99Ms: 50,
      maxMs: 50,
      missing: 1,
    }));
  test('a phase includes the records due at its first millisecond', () =>
    expect(lateness.between(1_100, 1_101)).toMatchObject({ count: 1, p50Ms: 50 }));
  test('a phase without due records has no lateness', () =>
    expect(lateness.between(3_000, 4_000)).toMatchObject({ count: 0, missing: 0, p50Ms: NaN }));
});
