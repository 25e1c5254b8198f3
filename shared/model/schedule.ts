/**
 * Decides in which delay topic (tier) a delivery waits next, and until when. A wait is always one
 * of the existing tiers: Kafka can wait for nothing else.
 *
 * A destination with a retry plan follows `retry-plan.ts` instead.
 *
 * The schedule of a delivery that fails at every try, at the default tiers and window
 * (10s,1m,5m,15m,30m and 4h), each attempt taking no time:
 *
 * | attempt | after acceptance | then waits                                |
 * | ------- | ---------------- | ----------------------------------------- |
 * | 1       | 0 s              | 10 s                                      |
 * | 2       | 10 s             | 1 m                                       |
 * | 3       | 1 m 10 s         | 5 m                                       |
 * | 4       | 6 m 10 s         | 15 m                                      |
 * | 5       | 21 m 10 s        | 30 m                                      |
 * | 6 … 11  | 51 m 10 s …      | 30 m each                                 |
 * | 12      | 3 h 51 m 10 s    | 5 m: the largest tier that still fits     |
 * | 13      | 3 h 56 m 10 s    | nothing: that was the final try           |
 *
 * No wait ends after the window. Tiers add no jitter: every record of a tier waits equally long, so
 * that records fall due in the order of their offsets. The retry service spreads records that fall
 * due together (`return-pace.ts`).
 */

/** Back to the broker, into a tier. */
export interface Wait {
  kind: 'wait';
  /** an existing tier, ms */
  tierMs: number;
  /** ms since 1970: the earliest time of the next attempt */
  nextAttemptAt: number;
  /** the next attempt is the last; absent: clear the mark */
  final?: true;
  /** ms since 1970, beyond this tier: hop on when the tier ends. Absent: clear the mark */
  notBefore?: number;
}

/** A wait, or the end: no tier ends within the window. */
export type Next = Wait | { kind: 'closed' };

interface WaitBounds {
  nowMs: number;
  /** end of the window, ms since 1970 */
  expiresAt: number;
  /**
   * As configured: the first is for the wait after the first attempt; in any order, repeats
   * allowed; at least one. For `park` as configured, or the result of `parkTiers`.
   */
  tiersMs: readonly number[];
}

/** Waits end a little late: a tier promises one second. */
const WINDOW_MARGIN_MS = 1_000;
/** In a short window, as in a test, the margin takes a quarter. */
const LARGEST_MARGIN = 1 / 4;

/**
 * Returns until when a wait may be planned, so that the delivery returns within its window; ms
 * since 1970.
 */
export function lastReturnAt(expiresAt: number, windowMs: number): number {
  return expiresAt - Math.min(WINDOW_MARGIN_MS, windowMs * LARGEST_MARGIN);
}

export interface WaitInput extends WaitBounds {
  /** attempts made so far, at least 1 */
  attempt: number;
  /** the attempt that just failed was marked as the last */
  final: boolean;
  /** the wait that the receiver asked for, ms */
  retryAfterMs?: number | undefined;
}

/**
 * Returns the wait after a failed attempt: the tier of that attempt (the last one repeats), or the
 * first that is long enough for `Retry-After`, never a shorter one than was due. Beyond the longest
 * tier it is that tier with `notBefore`, so that further hops spend no attempts. Beyond the window
 * it is the largest tier that still fits, for one final try.
 */
export function afterFailure(input: WaitInput): Next {
  const { nowMs, attempt, expiresAt, tiersMs, retryAfterMs = 0 } = input;
  if (input.final) return { kind: 'closed' };
  const scheduled = tiersMs[Math.min(Math.max(attempt, 1), tiersMs.length) - 1] ?? longest(tiersMs);
  const asked = firstLongEnough(tiersMs, retryAfterMs);
  const tierMs = Math.max(scheduled, asked ?? longest(tiersMs));
  if (nowMs + Math.max(tierMs, retryAfterMs) > expiresAt) return finalTry(input);
  if (asked !== undefined) return { kind: 'wait', tierMs, nextAttemptAt: nowMs + tierMs };
  const notBefore = nowMs + retryAfterMs;
  return { kind: 'wait', tierMs, nextAttemptAt: notBefore, notBefore };
}

/**
 * Returns the next wait of a delivery that came back before its `notBefore`: the first tier that is
 * long enough for the rest, else the longest. It spends no attempt.
 */
export function hop(input: WaitBounds & { notBefore: number }): Next {
  const { nowMs, notBefore, expiresAt, tiersMs } = input;
  const enough = firstLongEnough(tiersMs, notBefore - nowMs);
  const tierMs = enough ?? longest(tiersMs);
  if (nowMs + tierMs > expiresAt || notBefore > expiresAt) return finalTry(input);
  if (enough !== undefined) return { kind: 'wait', tierMs, nextAttemptAt: nowMs + tierMs };
  return { kind: 'wait', tierMs, nextAttemptAt: notBefore, notBefore };
}

export interface ParkInput extends WaitBounds {
  /** expected duration of the obstacle, ms */
  expectedWaitMs: number;
  /**
   * `nearest` (default): the tier nearest the expected wait, for a full lane. `down`: the largest
   * tier not longer than it, for an open circuit, so that hops grow with the logarithm of the
   * outage. `up`: the smallest tier that is long enough, else the longest, for a `Retry-After`.
   */
  round?: 'nearest' | 'down' | 'up';
}

/**
 * Returns the wait of a delivery that could not be started. It spends no attempt and never makes
 * the next one the last.
 */
export function park(input: ParkInput): Next {
  const { nowMs, expiresAt, tiersMs } = input;
  // Beyond the longest tier, all waits are equally far from infinity.
  const expectedWaitMs = Math.min(input.expectedWaitMs, longest(tiersMs));
  const fitting = tiersMs.filter((tier) => nowMs + tier <= expiresAt);
  if (fitting.length === 0) return { kind: 'closed' };
  const tierMs = rounded(fitting, expectedWaitMs, input.round ?? 'nearest');
  return { kind: 'wait', tierMs, nextAttemptAt: nowMs + tierMs };
}

/**
 * Largest ratio of neighbouring tiers for parked deliveries. Beyond it, another tier is added
 * between them.
 */
const WIDEST_STEP = 3.5;

/**
 * Returns the tiers for parked deliveries: the configured ones, and additional ones between distant
 * neighbours. A delivery parks in the largest tier not longer than the outage, and comes back
 * during the outage once per tier length. Between 10 s and 1 m, up to six times as many deliveries
 * would come back as arrive; with 20 s in between, up to three times. Retries keep to the
 * configured tiers, as their schedule says.
 *
 * 10s,1m,5m,15m,30m → 10s,20s,1m,2m,5m,15m,30m
 *
 * @returns ms, ascending, without repeats; cached by array, since it is needed for each parked
 *   record
 */
export function parkTiers(tiersMs: readonly number[]): readonly number[] {
  let tiers = parkTiersOf.get(tiersMs);
  if (!tiers) {
    const sorted = [...new Set(tiersMs)].sort((a, b) => a - b);
    tiers = sorted.flatMap((tier, i) => [...between(sorted[i - 1] ?? tier, tier), tier]);
    parkTiersOf.set(tiersMs, tiers);
  }
  return tiers;
}

const parkTiersOf = new WeakMap<readonly number[], readonly number[]>();

function between(shorter: number, longer: number): number[] {
  if (longer <= shorter * WIDEST_STEP) return [];
  const mean = Math.sqrt(shorter * longer);
  const middle = plain(mean) > shorter ? plain(mean) : Math.round(mean);
  return [...between(shorter, middle), middle, ...between(middle, longer)];
}

/**
 * Rounds down to one digit in its unit: 24.5 s → 20 s, 134 s → 2 m. The result is at least half of
 * the input.
 */
function plain(ms: number): number {
  const unit = [3_600_000, 60_000, 1_000, 1].find((unitMs) => ms >= unitMs) ?? 1;
  const place = unit * 10 ** Math.floor(Math.log10(ms / unit));
  return Math.floor(ms / place) * place;
}

function rounded(tiersMs: readonly number[], ms: number, round: 'nearest' | 'down' | 'up'): number {
  switch (round) {
    case 'down':
      return largest(tiersMs.filter((tier) => tier <= ms)) ?? shortest(tiersMs);
    case 'up':
      return firstLongEnough(tiersMs, ms) ?? longest(tiersMs);
    case 'nearest':
      return tiersMs.reduce((best, tier) => (isNearer(tier, best, ms) ? tier : best));
  }
}

function finalTry({ nowMs, expiresAt, tiersMs }: WaitBounds): Next {
  const tierMs = largest(tiersMs.filter((tier) => nowMs + tier <= expiresAt));
  if (tierMs === undefined) return { kind: 'closed' };
  return { kind: 'wait', tierMs, nextAttemptAt: nowMs + tierMs, final: true };
}

/**
 * Prefers the shorter of two equally near tiers: coming back early costs a hop, coming back late
 * costs time.
 */
function isNearer(tier: number, than: number, wanted: number): boolean {
  const [a, b] = [Math.abs(tier - wanted), Math.abs(than - wanted)];
  return a < b || (a === b && tier < than);
}

function firstLongEnough(tiersMs: readonly number[], ms: number): number | undefined {
  const enough = tiersMs.filter((tier) => tier >= ms);
  return enough.length === 0 ? undefined : shortest(enough);
}

function largest(tiersMs: readonly number[]): number | undefined {
  return tiersMs.length === 0 ? undefined : longest(tiersMs);
}

function longest(tiersMs: readonly number[]): number {
  return Math.max(...tiersMs);
}

function shortest(tiersMs: readonly number[]): number {
  return Math.min(...tiersMs);
}
