import fc from 'fast-check';
import { defined } from '../../../shared/collections/defined';
import {
  afterFailure,
  hop,
  park,
  parkTiers,
  type Next,
  type ParkInput,
  type WaitInput,
} from '../../../shared/model/schedule';

const S = 1_000;
const M = 60 * S;
const H = 60 * M;
const DEFAULT_TIERS = [10 * S, M, 5 * M, 15 * M, 30 * M];
const NOW = 1_700_000_000_000;

/** Expected results are written relative to NOW: `[tier, at]`, and marks. */
type Short = 'closed' | { tier: number; at: number; final?: true; notBefore?: number };

function short(next: Next): Short {
  if (next.kind === 'closed') return 'closed';
  return {
    tier: next.tierMs,
    at: next.nextAttemptAt - NOW,
    ...defined({
      final: next.final,
      notBefore: next.notBefore === undefined ? undefined : next.notBefore - NOW,
    }),
  };
}

const waits = (tier: number, at = tier): Short => ({ tier, at });
const finally_ = (tier: number): Short => ({ tier, at: tier, final: true });

describe('the wait after a failure', () => {
  /** `left`: rest of the window, ms */
  const next = (given: Partial<WaitInput> & { left?: number }) =>
    short(
      afterFailure({
        nowMs: NOW,
        attempt: 1,
        expiresAt: NOW + (given.left ?? 4 * H),
        tiersMs: DEFAULT_TIERS,
        final: false,
        ...given,
      }),
    );

  test.each<[string, Parameters<typeof next>[0], Short]>([
    // the tier of the attempt, the last one repeating
    ['attempt 1', { attempt: 1 }, waits(10 * S)],
    ['attempt 2', { attempt: 2 }, waits(M)],
    ['attempt 3', { attempt: 3 }, waits(5 * M)],
    ['attempt 4', { attempt: 4 }, waits(15 * M)],
    ['attempt 5', { attempt: 5 }, waits(30 * M)],
    ['attempt 6', { attempt: 6 }, waits(30 * M)],
    ['attempt 99', { attempt: 99 }, waits(30 * M)],
    ['attempt 0, which callers should not pass', { attempt: 0 }, waits(10 * S)],
    // Retry-After
    ['a short Retry-After changes nothing', { retryAfterMs: 3 * S }, waits(10 * S)],
    ['Retry-After of 0', { retryAfterMs: 0 }, waits(10 * S)],
    ['Retry-After as long as the tier', { retryAfterMs: 10 * S }, waits(10 * S)],
    ['Retry-After a little longer', { retryAfterMs: 10 * S + 1 }, waits(M)],
    ['Retry-After of the longest tier', { retryAfterMs: 30 * M }, waits(30 * M)],
    ['Retry-After never shortens', { attempt: 4, retryAfterMs: M }, waits(15 * M)],
    [
      'Retry-After beyond the longest tier',
      { retryAfterMs: H },
      { tier: 30 * M, at: H, notBefore: H },
    ],
    // the end of the window
    ['a tier that just fits', { attempt: 5, left: 30 * M }, waits(30 * M)],
    ['a tier that just does not fit', { attempt: 5, left: 30 * M - 1 }, finally_(15 * M)],
    [
      'the largest tier that fits, for a Retry-After beyond the window',
      { retryAfterMs: H, left: H - 1 },
      finally_(30 * M),
    ],
    ['the only tier that fits', { attempt: 5, left: 10 * S }, finally_(10 * S)],
    ['none fits', { attempt: 1, left: 10 * S - 1 }, 'closed'],
    ['the window has closed', { left: 0 }, 'closed'],
    ['the window has long closed', { left: -H }, 'closed'],
    [
      'Retry-After to the very end',
      { retryAfterMs: H, left: H },
      { tier: 30 * M, at: H, notBefore: H },
    ],
    [
      'Retry-After whose tier goes beyond the window',
      { retryAfterMs: 6 * M, left: 10 * M },
      finally_(5 * M),
    ],
    ['Retry-After and nothing fits', { retryAfterMs: H, left: S }, 'closed'],
    // after the final try
    ['the last attempt failed', { final: true }, 'closed'],
    ['the last attempt failed and asked for more', { final: true, retryAfterMs: S }, 'closed'],
    // other tiers
    ['tiers of milliseconds', { tiersMs: [200, 500], attempt: 1 }, waits(200)],
    ['tiers of milliseconds, repeating', { tiersMs: [200, 500], attempt: 7 }, waits(500)],
    ['one tier', { tiersMs: [M], attempt: 3 }, waits(M)],
    [
      'one tier and a longer Retry-After',
      { tiersMs: [M], retryAfterMs: 3 * M },
      { tier: M, at: 3 * M, notBefore: 3 * M },
    ],
    [
      'unsorted tiers keep their order',
      { tiersMs: [30 * M, 10 * S, M], attempt: 2 },
      waits(10 * S),
    ],
    [
      'unsorted tiers, Retry-After: the first that is long enough',
      { tiersMs: [30 * M, 10 * S, M], attempt: 2, retryAfterMs: 20 * S },
      waits(M),
    ],
    [
      'unsorted tiers, at the end',
      { tiersMs: [30 * M, 10 * S, M], attempt: 1, left: 2 * M },
      finally_(M),
    ],
    [
      'unsorted tiers, the last being the shortest',
      { tiersMs: [M, 10 * S], attempt: 5, retryAfterMs: H },
      { tier: M, at: H, notBefore: H },
    ],
    ['repeated tiers', { tiersMs: [S, S, M], attempt: 2 }, waits(S)],
  ])('is right for: %s', (_, input, expected) => expect(next(input)).toEqual(expected));
});

describe('the next hop', () => {
  const next = (rest: number, left: number, tiersMs = DEFAULT_TIERS) =>
    short(hop({ nowMs: NOW, notBefore: NOW + rest, expiresAt: NOW + left, tiersMs }));

  test.each<[string, [number, number, number[]?], Short]>([
    ['the first tier that is long enough', [6 * M, 4 * H], waits(15 * M)],
    ['exactly long enough', [5 * M, 4 * H], waits(5 * M)],
    [
      'no tier is long enough: the longest',
      [40 * M, 4 * H],
      { tier: 30 * M, at: 40 * M, notBefore: 40 * M },
    ],
    ['a past notBefore: the shortest tier', [0, 4 * H], waits(10 * S)],
    ['the tier goes beyond the window: a final try', [20 * M, 25 * M], finally_(15 * M)],
    ['a notBefore beyond the window: a final try', [2 * H, H], finally_(30 * M)],
    ['nothing fits', [10 * S, 5 * S], 'closed'],
    [
      'tiers of milliseconds',
      [1_300, 10 * S, [500, 200]],
      { tier: 500, at: 1_300, notBefore: 1_300 },
    ],
    ['tiers of milliseconds, the rest', [300, 10 * S, [500, 200]], waits(500)],
  ])('is right for: %s', (_, args, expected) => expect(next(...args)).toEqual(expected));
});

describe('the wait of a parked delivery', () => {
  const next = (given: Partial<ParkInput> & { left?: number }) =>
    short(
      park({
        nowMs: NOW,
        expectedWaitMs: 0,
        expiresAt: NOW + (given.left ?? 4 * H),
        tiersMs: DEFAULT_TIERS,
        ...given,
      }),
    );

  test.each<[string, Parameters<typeof next>[0], Short]>([
    ['no expected wait', { expectedWaitMs: 0 }, waits(10 * S)],
    ['nearest below', { expectedWaitMs: 34 * S }, waits(10 * S)],
    ['in the middle: the shorter', { expectedWaitMs: 35 * S }, waits(10 * S)],
    ['nearest above', { expectedWaitMs: 36 * S }, waits(M)],
    ['longer than all', { expectedWaitMs: 9 * H }, waits(30 * M)],
    ['without end', { expectedWaitMs: Infinity }, waits(30 * M)],
    ['unsorted tiers', { tiersMs: [30 * M, 10 * S, M], expectedWaitMs: 50 * S }, waits(M)],
    ['down: exactly', { expectedWaitMs: M, round: 'down' }, waits(M)],
    ['down: between two', { expectedWaitMs: 5 * M - 1, round: 'down' }, waits(M)],
    ['down: shorter than all', { expectedWaitMs: S, round: 'down' }, waits(10 * S)],
    ['down: longer than all', { expectedWaitMs: 9 * H, round: 'down' }, waits(30 * M)],
    ['down: without end', { expectedWaitMs: Infinity, round: 'down' }, waits(30 * M)],
    ['up: exactly', { expectedWaitMs: M, round: 'up' }, waits(M)],
    ['up: between two', { expectedWaitMs: M + 1, round: 'up' }, waits(5 * M)],
    ['up: longer than all', { expectedWaitMs: 9 * H, round: 'up' }, waits(30 * M)],
    ['up: does not fit', { expectedWaitMs: 30 * M, left: 20 * M, round: 'up' }, waits(15 * M)],
    ['the nearest does not fit', { expectedWaitMs: 30 * M, left: 20 * M }, waits(15 * M)],
    ['down: does not fit', { expectedWaitMs: 30 * M, left: 20 * M, round: 'down' }, waits(15 * M)],
    ['none fits', { expectedWaitMs: M, left: 9 * S }, 'closed'],
    ['none fits, unsorted', { tiersMs: [M, S], expectedWaitMs: H, left: 0 }, 'closed'],
    ['past the window', { expectedWaitMs: M, left: -S }, 'closed'],
    ['one fits', { expectedWaitMs: H, left: 6 * M }, waits(5 * M)],
  ])('is right for: %s', (_, input, expected) => expect(next(input)).toEqual(expected));
});

describe('the tiers for parked deliveries', () => {
  test.each<[number[], number[]]>([
    [DEFAULT_TIERS, [10 * S, 20 * S, M, 2 * M, 5 * M, 15 * M, 30 * M]],
    [[10 * S], [10 * S]],
    [
      [M, 10 * S, M],
      [10 * S, 20 * S, M],
    ],
    [
      [S, 3 * S],
      [S, 3 * S],
    ],
    [
      [S, 10 * S],
      [S, 3 * S, 10 * S],
    ],
    [
      [500, 2 * S],
      [500, S, 2 * S],
    ],
    [
      [S, H],
      [S, 2 * S, 7 * S, 20 * S, M, 2 * M, 7 * M, 20 * M, H],
    ],
  ])('from %j', (configured, expected) => {
    expect(parkTiers(configured)).toEqual(expected);
  });

  test('are at most 3.5 times the one before, and few are added', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 * 24 * H }), { minLength: 1, maxLength: 8 }),
        (configured) => {
          const tiers = parkTiers(configured);
          expect(tiers).toEqual(expect.arrayContaining(configured));
          for (const [i, tier] of tiers.entries()) {
            const before = tiers[i - 1] ?? tier - 1;
            expect(Number.isInteger(tier) && tier > before).toBe(true);
            if (i > 0) expect(tier / before).toBeLessThanOrEqual(3.5);
          }
          const [shortest, longest] = [Math.min(...configured), Math.max(...configured)];
          expect(tiers.length).toBeLessThanOrEqual(
            configured.length + 1.5 * Math.log2(longest / shortest) + 1,
          );
        },
      ),
    );
  });
});
