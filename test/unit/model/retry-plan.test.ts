import fc from 'fast-check';
import {
  afterPlannedFailure,
  effectiveDelay,
  leastDelay,
  plannedHop,
} from '../../../shared/model/retry-plan';
import { parkTiers } from '../../../shared/model/schedule';

const S = 1_000;
const M = 60 * S;
const H = 60 * M;
const DEFAULT_TIERS = [10 * S, M, 5 * M, 15 * M, 30 * M];

describe('an effective delay', () => {
  test.each([
    [5 * S, 10 * S],
    [10 * S, 10 * S],
    [10 * S + 1, 20 * S],
    [45 * S, 50 * S],
    [M, M],
    [61 * S, 70 * S],
    [2 * H, 2 * H],
    [72 * H, 72 * H],
  ])('%i ms become %i ms in the default tiers', (delayMs, sumMs) => {
    expect(effectiveDelay(delayMs, DEFAULT_TIERS)).toBe(sumMs);
  });

  test.each([
    [1_000, [300, 700], 1_000],
    [1_100, [300, 700], 1_200],
    [7_001, [2_000, 5_000], 8_000],
    [1, [250], 250],
    [86_400_001, [86_400_000, 172_800_001], 172_800_000],
  ])('%i ms in the tiers %j become %i ms', (delayMs, tiersMs, sumMs) => {
    expect(effectiveDelay(delayMs, tiersMs)).toBe(sumMs);
  });

  test('an effective delay is the smallest sum of tiers that is not shorter', () => {
    const tiers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(tiers, fc.integer({ min: 1, max: 500 }), (tiersMs, delayMs) => {
        const sums = new Set([0]);
        for (let sum = 1; sum <= 1_000; sum++) {
          if (parkTiers(tiersMs).some((t) => sums.has(sum - t))) sums.add(sum);
        }
        const smallest = Math.min(...[...sums].filter((sum) => sum >= delayMs));
        expect(effectiveDelay(delayMs, tiersMs)).toBe(smallest);
      }),
    );
  });

  test('the shortest delay of a plan is half of the shortest tier', () => {
    expect(leastDelay([M, 10 * S])).toBe(5 * S);
  });
});

/** Lives through a delivery that fails at every try. @param lateMs of each return from a tier */
function live(plan: {
  delaysMs: number[];
  tiersMs: number[];
  windowMs: number;
  lateMs?: number;
  retryAfterMs?: number;
}) {
  const { delaysMs, tiersMs, windowMs: expiresAt, lateMs = 0, retryAfterMs } = plan;
  const attemptsAt = [0];
  let hops = 0;
  let nowMs = 0;
  let final = false;
  for (;;) {
    let next = afterPlannedFailure(
      { nowMs, expiresAt, tiersMs, final },
      { delaysMs, attempt: attemptsAt.length, retryAfterMs },
    );
    if (next.kind === 'closed') return { attemptsAt, hops };
    for (;;) {
      expect(parkTiers(tiersMs)).toContain(next.tierMs);
      hops++;
      nowMs += next.tierMs + lateMs;
      final ||= next.final === true;
      if (next.notBefore === undefined || next.notBefore <= nowMs) break;
      const further = plannedHop({ nowMs, expiresAt, tiersMs, final }, next.notBefore);
      if (further?.kind !== 'wait') break;
      next = further;
    }
    if (nowMs > expiresAt) return { attemptsAt, hops };
    attemptsAt.push(nowMs);
  }
}

describe('a planned delivery', () => {
  test('its attempts follow its delays, and the last delay repeats until the window closes', () => {
    const { attemptsAt, hops } = live({
      delaysMs: [10 * S, 2 * H],
      tiersMs: DEFAULT_TIERS,
      windowMs: 7 * H,
    });
    expect(attemptsAt).toEqual([0, 10 * S, 2 * H + 10 * S, 4 * H + 10 * S, 6 * H + 10 * S, 7 * H]);
    expect(hops).toBeLessThan(25);
  });

  test('a Retry-After that is longer than its delay prolongs the wait to a sum of tiers', () => {
    const { attemptsAt } = live({
      delaysMs: [10 * S],
      tiersMs: DEFAULT_TIERS,
      windowMs: H,
      retryAfterMs: 35 * M,
    });
    expect(attemptsAt).toEqual([0, 35 * M, H]);
  });

  test('a window shorter than the shortest tier ends it after one attempt', () => {
    expect(live({ delaysMs: [10 * S], tiersMs: [2 * M], windowMs: M }).attemptsAt).toEqual([0]);
  });

  test('only the last attempt may be early, none exceeds the window or lateness of a tier', () => {
    const tiers = fc.array(fc.integer({ min: 5, max: 3_000 }), { minLength: 1, maxLength: 5 });
    const delays = fc.array(fc.integer({ min: 1, max: 20_000 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        tiers,
        delays,
        fc.integer({ min: 1, max: 40_000 }),
        fc.integer({ min: 0, max: 50 }),
        (tiersMs, delaysMs, windowMs, lateMs) => {
          const { attemptsAt } = live({ delaysMs, tiersMs, windowMs, lateMs });
          const shortest = Math.min(...tiersMs);
          attemptsAt.slice(1).forEach((at, i) => {
            const delayMs = delaysMs[Math.min(i, delaysMs.length - 1)]!;
            const gapMs = at - attemptsAt[i]!;
            const isLast = i === attemptsAt.length - 2;
            if (!isLast) expect(gapMs).toBeGreaterThanOrEqual(delayMs);
            expect(at).toBeLessThanOrEqual(windowMs);
            expect(gapMs).toBeLessThanOrEqual(
              effectiveDelay(delayMs, tiersMs) + shortest + lateMs * (gapMs / shortest + 1),
            );
          });
        },
      ),
    );
  });
});
