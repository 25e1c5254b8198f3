import fc from 'fast-check';
import { RateLimit } from '../../../../services/delivery/lanes/rate-limit';

/**
 * Returns how many requests begin if one is tried every `stepMs`, as often as allowed, for this
 * time.
 */
function begun(
  rate: RateLimit,
  { from, forMs, stepMs }: { from: number; forMs: number; stepMs: number },
): number {
  let count = 0;
  for (let now = from; now < from + forMs; now += stepMs) {
    while (rate.has(now)) {
      rate.take(now);
      count++;
    }
  }
  return count;
}

describe('a rate limit', () => {
  test('without a rate, everything may begin immediately', () => {
    const rate = new RateLimit();
    for (let i = 0; i < 1_000; i++) {
      expect(rate.has(0)).toBe(true);
      rate.take(0);
    }
    expect(rate.waitMs(1e6, 0)).toBe(0);
  });

  test.each([
    [0.5, 10_000, 5],
    [1, 10_000, 10],
    [10, 10_000, 100],
    [1_000, 2_000, 2_000],
  ])('a rate of %d per second for %d ms allows %d requests', (perSecond, forMs, expected) => {
    const rate = new RateLimit();
    rate.set(perSecond, 0);
    const count = begun(rate, { from: 0, forMs, stepMs: 20 });
    expect(count).toBeGreaterThanOrEqual(expected * 0.9);
    expect(count).toBeLessThanOrEqual(expected * 1.1 + 1);
  });

  test('unused requests are saved up for a tenth of a second, and no longer', () => {
    const rate = new RateLimit();
    rate.set(100, 0);
    expect(begun(rate, { from: 60_000, forMs: 1, stepMs: 1 })).toBe(10);
  });

  test('it estimates the time for a number of requests, and applies a change immediately', () => {
    const rate = new RateLimit();
    rate.set(10, 0);
    expect(rate.waitMs(11, 0)).toBe(1_000);
    rate.set(100, 0);
    expect(rate.waitMs(11, 0)).toBe(100);
    rate.set(undefined, 0);
    expect(rate.waitMs(11, 0)).toBe(0);
  });

  test('no second exceeds the rate and the burst', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 20 }),
        (perSecond, pauses) => {
          const rate = new RateLimit();
          rate.set(perSecond, 0);
          let now = 0;
          for (const pause of pauses) {
            now += pause;
            const count = begun(rate, { from: now, forMs: 1_000, stepMs: 20 });
            expect(count).toBeLessThanOrEqual(perSecond * 1.1 + 1);
            now += 1_000;
          }
        },
      ),
    );
  });
});
