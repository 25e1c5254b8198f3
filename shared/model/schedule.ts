/**
 * Decides when the next attempt of a delivery is, and in which delay topics (tiers) it waits until
 * then. Kafka can wait for nothing else than the fixed delay of a tier.
 *
 * `next` is the only scheduler. A plan is a list of delays: that of the destination, or the tiers
 * as configured. The wait after an attempt is the delay of the plan or, if it is longer, the wait
 * that the endpoint asked for, of which 15 minutes count. A wait that goes beyond the window is cut
 * at its end: the last attempt is then.
 *
 * `tierFor` composes a wait of tiers. The delivery passes from tier to tier without attempts:
 *
 * | wait | takes | tiers 10s,20s,1m,2m,5m,15m,30m |
 * | ---- | ----- | ------------------------------ |
 * | 5 s  | 10 s  | 10 s                           |
 * | 45 s | 50 s  | 20 s, 20 s, 10 s               |
 * | 1 m  | 1 m   | 1 m                            |
 * | 2 h  | 2 h   | 30 m, four times               |
 *
 * It takes longer than the wait by less than the shortest tier. Only the last attempt may be
 * earlier by as much, so that it does not miss the window. docs/reference/schedule.md shows whole
 * lives.
 *
 * Tiers add no jitter: every record of a tier waits equally long, so that records fall due in the
 * order of their offsets. The retry service spreads records that fall due together
 * (`return-pace.ts`).
 */

/** A wait in a tier. */
export interface Wait {
  /** an existing tier, ms */
  tierMs: number;
  /** ms since 1970: the expected time of the next attempt */
  nextAttemptAt: number;
  /** ms since 1970, beyond this tier: wait on when the tier ends; absent: the tier is all */
  notBefore?: number;
  /**
   * the clocks of delivery and retry do not agree: the brokers' timestamp says when the tier is
   * over
   */
  clocksDiffer?: true;
}

/**
 * The longest wait that an endpoint gets by asking for it, ms. A receiver that asks for a day has
 * often made a mistake: an occasional request checks again.
 */
export const LONGEST_ASKED_MS = 900_000;

/**
 * Returns the time of the next attempt after one that failed, ms since 1970; undefined: the window
 * is over.
 * @param plan delays after the first, second, … attempt, ms; the last one repeats
 * @param attempt number of attempts made so far, at least 1
 * @param askedMs the wait that the endpoint asked for; 0: none
 */
export function next(
  plan: readonly number[],
  attempt: number,
  askedMs: number,
  nowMs: number,
  expiresAt: number,
): number | undefined {
  const plannedMs = plan[Math.min(Math.max(attempt, 1), plan.length) - 1] ?? 0;
  const waitMs = Math.max(plannedMs, Math.min(askedMs, LONGEST_ASKED_MS));
  return nowMs < expiresAt ? Math.min(nowMs + waitMs, expiresAt) : undefined;
}

/**
 * Returns the tier in which a wait begins, ms: the shortest one that is long enough, unless others
 * come nearer together. Undefined if each tier is longer than the room.
 * @param tiersMs as configured
 * @param roomMs the most that the wait may take
 */
export function tierFor(
  waitMs: number,
  tiersMs: readonly number[],
  roomMs = Infinity,
): number | undefined {
  const tiers = parkTiers(tiersMs);
  const shortest = shortestTier(tiersMs);
  const enough = tiers.find((tier) => tier >= waitMs);
  const isNear = enough !== undefined && enough < waitMs + shortest;
  if (isNear && enough <= roomMs) return enough;
  const part = tiers.findLast((tier) => tier <= Math.min(waitMs, roomMs));
  return part ?? (shortest <= roomMs ? shortest : undefined);
}

/** Returns the length of the shortest tier, ms. @param tiersMs as configured */
export function shortestTier(tiersMs: readonly number[]): number {
  return parkTiers(tiersMs)[0] ?? 0;
}

/** Returns how long a wait takes, in one tier after the other, ms. @param tiersMs as configured */
export function effectiveDelay(
  waitMs: number,
  tiersMs: readonly number[],
  roomMs = Infinity,
): number {
  const longest = parkTiers(tiersMs).at(-1) ?? 1;
  // A long wait begins with the longest tier, again and again.
  let sumMs = Math.max(0, Math.floor((waitMs - longest) / longest)) * longest;
  do {
    const tier = tierFor(waitMs - sumMs, tiersMs, roomMs - sumMs);
    if (tier === undefined) return sumMs;
    sumMs += tier;
  } while (sumMs < waitMs);
  return sumMs;
}

/**
 * Returns the shortest delay that a plan may have, ms: a shorter one would become more than twice
 * as long.
 */
export function leastDelay(tiersMs: readonly number[]): number {
  return shortestTier(tiersMs) / 2;
}

interface WaitBounds {
  nowMs: number;
  /** until when the delivery must have left its tier, ms since 1970 (`lastReturnAt`) */
  returnBy: number;
  /** as configured; for `park` also the result of `parkTiers` */
  tiersMs: readonly number[];
}

/** Returns the first tier of a wait until this time; undefined if no tier ends early enough. */
export function waitUntil(
  atMs: number,
  { nowMs, returnBy, tiersMs }: WaitBounds,
): Wait | undefined {
  const roomMs = returnBy - nowMs;
  const waitMs = Math.min(atMs - nowMs, roomMs);
  const tierMs = tierFor(waitMs, tiersMs, roomMs);
  if (tierMs === undefined) return undefined;
  const nextAttemptAt = nowMs + effectiveDelay(waitMs, tiersMs, roomMs);
  return tierMs >= waitMs
    ? { tierMs, nextAttemptAt }
    : { tierMs, nextAttemptAt, notBefore: nowMs + waitMs };
}

/**
 * By how much the last return must precede the end of the window: a crowd returns over six seconds.
 * A window of minutes spares less, and the window of a test a quarter.
 */
const MARGIN = { mostMs: 10_000, part: 1 / 60, leastMs: 1_000, mostPart: 1 / 4 };

/**
 * Returns until when a wait may be planned, so that the last attempt is within the window; ms since
 * 1970.
 */
export function lastReturnAt(expiresAt: number, windowMs: number): number {
  const marginMs = Math.max(MARGIN.leastMs, Math.min(MARGIN.mostMs, windowMs * MARGIN.part));
  return expiresAt - Math.min(marginMs, windowMs * MARGIN.mostPart);
}

export interface ParkInput extends WaitBounds {
  /** expected duration of the obstacle, ms */
  expectedWaitMs: number;
  /**
   * `down` (default): the largest tier not longer than the expected wait, for a full lane, which
   * must not run dry, and for a token or a proxy that is away, whose return no probe notices. `up`:
   * the smallest tier that is long enough, else the longest, for a `Retry-After` and for an open
   * circuit: hops grow with the logarithm of the outage, and when it is over, retry brings all
   * back.
   */
  round?: 'down' | 'up';
}

/**
 * Returns the wait of a delivery that could not be started, which spends no attempt; undefined if
 * no tier ends early enough.
 */
export function park(input: ParkInput): Wait | undefined {
  const { nowMs, returnBy, tiersMs } = input;
  // Beyond the longest tier, all waits are equally far from infinity.
  const expectedWaitMs = Math.min(input.expectedWaitMs, longest(tiersMs));
  const fitting = tiersMs.filter((tier) => nowMs + tier <= returnBy);
  if (fitting.length === 0) return undefined;
  const tierMs =
    input.round === 'up'
      ? (firstLongEnough(fitting, expectedWaitMs) ?? longest(fitting))
      : (largest(fitting.filter((tier) => tier <= expectedWaitMs)) ?? shortest(fitting));
  return { tierMs, nextAttemptAt: nowMs + tierMs };
}

/**
 * Largest ratio of neighbouring tiers for parked deliveries. Beyond it, another tier is added
 * between them.
 */
const WIDEST_STEP = 3.5;

/**
 * Returns the tiers for parked deliveries: the configured ones, and additional ones between distant
 * neighbours. A delivery parks in the first tier that is as long as the outage so far. Beyond the
 * shortest tier that is less than four times as long: without 20 s between 10 s and 1 m it could be
 * six times. Planned waits use them too.
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
