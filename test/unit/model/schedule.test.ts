import fc from 'fast-check';
import {
  effectiveDelay,
  lastReturnAt,
  leastDelay,
  next,
  park,
  parkTiers,
  type ParkInput,
  tierFor,
  type Wait,
  waitUntil,
} from '../../../shared/model/schedule';

const S = 1_000;
const M = 60 * S;
const H = 60 * M;
const DEFAULT_TIERS = [10 * S, M, 5 * M, 15 * M, 30 * M];
const NOW = 1_700_000_000_000;

describe('the time of the next attempt', () => {
  interface Given {
    plan?: number[];
    attempt?: number;
    asked?: number;
    /** rest of the window, ms */
    left?: number;
  }
  const after = ({ plan = DEFAULT_TIERS, attempt = 1, asked = 0, left = 4 * H }: Given) => {
    const at = next(plan, attempt, asked, NOW, NOW + left);
    return at === undefined ? 'the window is over' : at - NOW;
  };

  test.each<[string, Given, number | string]>([
    ['attempt 1', { attempt: 1 }, 10 * S],
    ['attempt 2', { attempt: 2 }, M],
    ['attempt 5', { attempt: 5 }, 30 * M],
    ['attempt 6: the last delay repeats', { attempt: 6 }, 30 * M],
    ['attempt 99', { attempt: 99 }, 30 * M],
    ['attempt 0, which callers should not pass', { attempt: 0 }, 10 * S],
    ['the order of the plan', { plan: [30 * M, 10 * S], attempt: 2 }, 10 * S],
    ['a shorter wait that was asked for', { asked: 3 * S }, 10 * S],
    ['a longer one', { asked: 11 * S }, 11 * S],
    ['15 minutes', { asked: 15 * M }, 15 * M],
    ['a day: 15 minutes count', { asked: 24 * H }, 15 * M],
    ['a day, after a longer delay', { attempt: 5, asked: 24 * H }, 30 * M],
    ['a delay to the end of the window', { attempt: 5, left: 30 * M }, 30 * M],
    ['a delay beyond the window: its end', { attempt: 5, left: 29 * M }, 29 * M],
    ['a wait asked for beyond the window: its end', { asked: 2 * M, left: M }, M],
    ['the window has closed', { left: 0 }, 'the window is over'],
    ['the window has long closed', { left: -H }, 'the window is over'],
  ])('%s', (_, given, expected) => expect(after(given)).toBe(expected));
});

describe('the tier of a wait', () => {
  test.each<[string, [number, number[]?, number?], number | undefined]>([
    ['exactly as long', [M], M],
    ['a little too short: the next one', [10 * S + 1], 20 * S],
    ['too short, and the next one far too long: the first of several', [61 * S], M],
    ['long enough, by less than the shortest tier', [51 * S], M],
    ['the largest part of a sum', [45 * S], 20 * S],
    ['the rest of a sum', [5 * S], 10 * S],
    ['no wait', [0], 10 * S],
    ['longer than all tiers', [2 * H], 30 * M],
    ['the rest of a wait whose returns were late', [29 * M + 59 * S], 30 * M],
    ['the nearest of close tiers', [S, [S, 1_500]], S],
    ['unsorted tiers', [50 * S, [30 * M, 10 * S, M]], 20 * S],
    ['a tier that is too long for the room: a part', [55 * S, DEFAULT_TIERS, 59 * S], 20 * S],
    ['a room for the shortest alone', [5 * S, DEFAULT_TIERS, 10 * S], 10 * S],
    ['no room', [5 * S, DEFAULT_TIERS, 10 * S - 1], undefined],
    ['no room at all', [0, DEFAULT_TIERS, -H], undefined],
  ])('%s', (_, args, expected) => {
    const [waitMs, tiersMs = DEFAULT_TIERS, roomMs] = args;
    expect(tierFor(waitMs, tiersMs, roomMs)).toBe(expected);
  });
});

describe('an effective delay', () => {
  test.each([
    [5 * S, DEFAULT_TIERS, 10 * S],
    [10 * S, DEFAULT_TIERS, 10 * S],
    [10 * S + 1, DEFAULT_TIERS, 20 * S],
    [45 * S, DEFAULT_TIERS, 50 * S],
    [M, DEFAULT_TIERS, M],
    [61 * S, DEFAULT_TIERS, 70 * S],
    [2 * H, DEFAULT_TIERS, 2 * H],
    [72 * H, DEFAULT_TIERS, 72 * H],
    [1_000, [300, 700], 1_000],
    [7_001, [2_000, 5_000], 9_000],
    [1, [250], 250],
    [72 * H, [1], 72 * H],
  ])('%i ms in the tiers %j become %i ms', (delayMs, tiersMs, sumMs) => {
    expect(effectiveDelay(delayMs, tiersMs)).toBe(sumMs);
  });

  test('is longer than the delay by less than the shortest tier, for any tiers', () => {
    const tiers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(tiers, fc.integer({ min: 1, max: 5_000 }), (tiersMs, delayMs) => {
        const sumMs = effectiveDelay(delayMs, tiersMs);
        expect(sumMs).toBeGreaterThanOrEqual(delayMs);
        expect(sumMs).toBeLessThan(delayMs + Math.min(...tiersMs));
      }),
    );
  });

  test('the shortest delay of a plan is half of the shortest tier', () => {
    expect(leastDelay([M, 10 * S])).toBe(5 * S);
  });
});

/** Expected waits are written relative to NOW. */
interface Short {
  tier: number;
  at: number;
  notBefore?: number;
}

function short(wait: Wait | undefined): Short | 'none fits' {
  if (!wait) return 'none fits';
  const { tierMs: tier, nextAttemptAt, notBefore } = wait;
  const at = nextAttemptAt - NOW;
  return notBefore === undefined ? { tier, at } : { tier, at, notBefore: notBefore - NOW };
}

const waits = (tier: number, at = tier): Short => ({ tier, at });

describe('a wait', () => {
  const until = (waitMs: number, left: number, tiersMs = DEFAULT_TIERS) =>
    short(waitUntil(NOW + waitMs, { nowMs: NOW, returnBy: NOW + left, tiersMs }));

  test.each<[string, [number, number, number[]?], Short | 'none fits']>([
    ['of one tier needs no mark', [M, H], waits(M)],
    ['of several says until when', [45 * S, H], { tier: 20 * S, at: 50 * S, notBefore: 45 * S }],
    ['beyond the window is cut', [H, M], waits(M)],
    ['is cut to a sum that fits', [H, 95 * S], { tier: M, at: 90 * S, notBefore: 95 * S }],
    ['none fits', [H, 9 * S], 'none fits'],
    ['the window has closed', [M, -S], 'none fits'],
    ['tiers of milliseconds', [1_300, H, [500, 200]], { tier: 500, at: 1_400, notBefore: 1_300 }],
  ])('%s', (_, args, expected) => expect(until(...args)).toEqual(expected));

  test.each([
    ['ten seconds of hours', 4 * H, 10 * S],
    ['a sixtieth of minutes', 5 * M, 5 * S],
    ['a second of one', M, S],
    ['a quarter of a short one', S, 250],
  ])('the margin of a window: %s', (_, windowMs, marginMs) => {
    expect(NOW - lastReturnAt(NOW, windowMs)).toBe(marginMs);
  });
});

describe('the wait of a parked delivery', () => {
  const next = (given: Partial<ParkInput> & { left?: number }) =>
    short(
      park({
        nowMs: NOW,
        expectedWaitMs: 0,
        returnBy: NOW + (given.left ?? 4 * H),
        tiersMs: DEFAULT_TIERS,
        ...given,
      }),
    );

  test.each<[string, Parameters<typeof next>[0], Short | 'none fits']>([
    ['no expected wait', { expectedWaitMs: 0 }, waits(10 * S)],
    ['between two', { expectedWaitMs: M - 1 }, waits(10 * S)],
    ['exactly', { expectedWaitMs: M }, waits(M)],
    ['shorter than all', { expectedWaitMs: S }, waits(10 * S)],
    ['longer than all', { expectedWaitMs: 9 * H }, waits(30 * M)],
    ['without end', { expectedWaitMs: Infinity }, waits(30 * M)],
    ['unsorted tiers', { tiersMs: [30 * M, 10 * S, M], expectedWaitMs: 70 * S }, waits(M)],
    ['up: exactly', { expectedWaitMs: M, round: 'up' }, waits(M)],
    ['up: between two', { expectedWaitMs: M + 1, round: 'up' }, waits(5 * M)],
    ['up: longer than all', { expectedWaitMs: 9 * H, round: 'up' }, waits(30 * M)],
    ['up: does not fit', { expectedWaitMs: 30 * M, left: 20 * M, round: 'up' }, waits(15 * M)],
    ['it does not fit', { expectedWaitMs: 30 * M, left: 20 * M }, waits(15 * M)],
    ['none fits', { expectedWaitMs: M, left: 9 * S }, 'none fits'],
    ['none fits, unsorted', { tiersMs: [M, S], expectedWaitMs: H, left: 0 }, 'none fits'],
    ['past the window', { expectedWaitMs: M, left: -S }, 'none fits'],
    ['one fits', { expectedWaitMs: H, left: 6 * M }, waits(5 * M)],
  ])('is right for: %s', (_, input, expected) => expect(next(input)).toEqual(expected));

  test('a parked delivery returns within its window, or is not parked', () => {
    const tiers = fc.array(fc.integer({ min: 50, max: 5_000 }), { minLength: 1, maxLength: 6 });
    const left = fc.integer({ min: -10_000, max: 10_000 });
    const round = fc.constantFrom<'up' | 'down'>('up', 'down');
    fc.assert(
      fc.property(
        fc.record({ tiersMs: tiers, left, expectedWaitMs: fc.nat(20_000), round }),
        (c) => {
          const wait = park({ ...c, nowMs: NOW, returnBy: NOW + c.left });
          if (!wait) {
            expect(Math.min(...c.tiersMs)).toBeGreaterThan(c.left);
            return;
          }
          expect(c.tiersMs).toContain(wait.tierMs);
          expect(wait.nextAttemptAt).toBeLessThanOrEqual(NOW + c.left);
          expect(wait.notBefore).toBeUndefined();
        },
      ),
    );
  });
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
