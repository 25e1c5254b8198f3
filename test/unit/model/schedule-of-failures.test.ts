import fc from 'fast-check';
import { afterFailure, hop, park, type Next } from '../../../shared/model/schedule';

const S = 1_000;
const M = 60 * S;
const H = 60 * M;
const DEFAULT_TIERS = [10 * S, M, 5 * M, 15 * M, 30 * M];
const NOW = 1_700_000_000_000;

/**
 * Simulates a delivery that always fails, and returns the time of each attempt, ms after
 * acceptance.
 */
function live(tiersMs: number[], windowMs: number, retryAfters: (number | undefined)[] = []) {
  const attemptsAt: number[] = [];
  let hops = 0;
  let nowMs = NOW;
  let final = false;
  let notBefore: number | undefined;
  for (;;) {
    const frame = { nowMs, expiresAt: NOW + windowMs, tiersMs };
    let next: Next;
    if (notBefore !== undefined && nowMs < notBefore) {
      next = hop({ ...frame, notBefore });
      hops++;
    } else {
      attemptsAt.push(nowMs - NOW);
      next = afterFailure({
        ...frame,
        attempt: attemptsAt.length,
        final,
        retryAfterMs: retryAfters[attemptsAt.length - 1],
      });
    }
    if (next.kind === 'closed') return { attemptsAt, hops, wasFinal: final };
    expect(tiersMs).toContain(next.tierMs);
    expect(next.nextAttemptAt).toBeGreaterThan(nowMs);
    expect(next.nextAttemptAt).toBeLessThanOrEqual(frame.expiresAt);
    expect(nowMs + next.tierMs).toBeLessThanOrEqual(frame.expiresAt);
    nowMs += next.tierMs;
    final = next.final ?? false;
    notBefore = next.notBefore;
  }
}

describe('a delivery that always fails', () => {
  test('makes 13 attempts at the default settings', () => {
    const halfHours = [0, 1, 2, 3, 4, 5, 6].map((n) => 51 * M + 10 * S + n * 30 * M);
    expect(live(DEFAULT_TIERS, 4 * H)).toEqual({
      attemptsAt: [
        0,
        10 * S,
        70 * S,
        6 * M + 10 * S,
        21 * M + 10 * S,
        ...halfHours,
        3 * H + 56 * M + 10 * S,
      ],
      hops: 0,
      wasFinal: true,
    });
  });

  test('spends hops, not attempts, on a Retry-After of an hour', () => {
    expect(live(DEFAULT_TIERS, 2 * H, [H])).toEqual({
      attemptsAt: [0, H, H + M, H + 6 * M, H + 21 * M, H + 51 * M, H + 56 * M],
      hops: 1,
      wasFinal: true,
    });
  });

  test('gets one final try for a Retry-After beyond the window', () => {
    expect(live(DEFAULT_TIERS, 4 * H, [5 * H])).toEqual({
      attemptsAt: [0, 30 * M],
      hops: 0,
      wasFinal: true,
    });
  });

  test('gets one attempt in a window shorter than every tier', () => {
    expect(live([M], S)).toEqual({ attemptsAt: [0], hops: 0, wasFinal: false });
  });

  const tiers = fc.array(fc.integer({ min: 50, max: 5_000 }), { minLength: 1, maxLength: 6 });
  const asks = fc.array(fc.option(fc.integer({ min: 0, max: 60_000 }), { nil: undefined }), {
    maxLength: 20,
  });
  test('ends within its window and bounded attempts, for any tiers and Retry-After', () => {
    fc.assert(
      fc.property(
        tiers,
        fc.integer({ min: 1, max: 40_000 }),
        asks,
        (tiersMs, windowMs, retryAfters) => {
          const { attemptsAt } = live(tiersMs, windowMs, retryAfters);
          expect(attemptsAt.length).toBeLessThanOrEqual(
            1 + Math.floor(windowMs / Math.min(...tiersMs)),
          );
          expect(attemptsAt.at(-1)).toBeLessThanOrEqual(windowMs);
        },
      ),
    );
  });

  test('waits at least for a Retry-After within the window, except before the final try', () => {
    fc.assert(
      fc.property(
        tiers,
        fc.integer({ min: 1, max: 40_000 }),
        fc.integer({ min: 0, max: 60_000 }),
        (...given) => {
          const [tiersMs, windowMs, retryAfter] = given;
          const { attemptsAt } = live(tiersMs, windowMs, [retryAfter]);
          if (attemptsAt.length > 2) expect(attemptsAt[1]).toBeGreaterThanOrEqual(retryAfter);
        },
      ),
    );
  });

  test('a parked delivery returns within its window, or is not parked', () => {
    const left = fc.integer({ min: -10_000, max: 10_000 });
    const round = fc.constantFrom<'nearest' | 'down'>('nearest', 'down');
    fc.assert(
      fc.property(
        fc.record({ tiersMs: tiers, left, expectedWaitMs: fc.nat(20_000), round }),
        (c) => {
          const next = park({ ...c, nowMs: NOW, expiresAt: NOW + c.left });
          if (next.kind === 'closed') {
            expect(Math.min(...c.tiersMs)).toBeGreaterThan(c.left);
            return;
          }
          expect(c.tiersMs).toContain(next.tierMs);
          expect(next.nextAttemptAt).toBeLessThanOrEqual(NOW + c.left);
          expect(next.final ?? next.notBefore).toBeUndefined();
        },
      ),
    );
  });
});
