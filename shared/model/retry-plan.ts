import { parkTiers, type Next } from './schedule';

/**
 * The retry plan of a destination: its own delays, composed of the tiers that exist. A planned
 * delay is the smallest sum of tiers that is not shorter. The delivery passes from tier to tier
 * without attempts until the delay is over.
 *
 * Delays with the tiers 10s,1m,5m,15m,30m and the tiers between them for parked deliveries:
 *
 * | delay | sum  | tiers            |
 * | ----- | ---- | ---------------- |
 * | 5 s   | 10 s | 10 s             |
 * | 45 s  | 50 s | 20 s, 20 s, 10 s |
 * | 1 m   | 1 m  | 1 m              |
 * | 2 h   | 2 h  | 30 m, four times |
 *
 * An attempt never begins before its delay is over. It begins later than the sum by at most the
 * lateness of one return for each tier; a wait that is late already takes fewer or shorter tiers
 * for its rest.
 */
export interface RetryPlan {
  /**
   * ms before the second, third, … attempt; the last one repeats. Absent: the tiers as configured
   */
  delaysMs?: number[];
  /** ms after acceptance in which a delivery is attempted. Absent: WAYPOST_RETRY_WINDOW */
  windowMs?: number;
  /** ms for one request. Absent: WAYPOST_TIMEOUT */
  timeoutMs?: number;
  /** further retried statuses */
  on?: number[];
}

/** Longest timeout of a destination. A stopping delivery process waits for it. */
export const MOST_TIMEOUT_MS = 30_000;

/**
 * Returns the smallest sum of tiers that is not shorter than the delay, ms. @param tiersMs as
 * configured
 */
export function effectiveDelay(delayMs: number, tiersMs: readonly number[]): number {
  return sumsOf(tiersMs).notBelow(delayMs);
}

/**
 * Returns the shortest delay that a plan may have, ms: a shorter one would become more than twice
 * as long.
 */
export function leastDelay(tiersMs: readonly number[]): number {
  return Math.min(...tiersMs) / 2;
}

interface PlanFrame {
  nowMs: number;
  /** until when a wait may be planned, ms since 1970 */
  expiresAt: number;
  /** as configured */
  tiersMs: readonly number[];
  /** the attempt after this wait is the last */
  final: boolean;
}

/**
 * Returns the wait after a failed attempt. `Retry-After` prolongs it. If the wait would end after
 * the window, it is the longest sum of tiers that still fits, for one final try.
 * @param attempt number of attempts made so far, at least 1
 * @param final the attempt that just failed was the last
 */
export function afterPlannedFailure(
  { nowMs, expiresAt, tiersMs, final }: PlanFrame,
  {
    delaysMs,
    attempt,
    retryAfterMs = 0,
  }: { delaysMs: readonly number[]; attempt: number; retryAfterMs?: number | undefined },
): Next {
  if (final) return CLOSED;
  const delayMs = delaysMs[Math.min(Math.max(attempt, 1), delaysMs.length) - 1] ?? 0;
  const notBefore = nowMs + Math.max(delayMs, retryAfterMs, 1);
  return plannedHop({ nowMs, expiresAt, tiersMs, final }, notBefore) ?? CLOSED;
}

const CLOSED: Next = { kind: 'closed' };

/**
 * Returns the next tier of a planned wait; undefined if the delivery is due now: no tier ends
 * within its window.
 * @param notBefore end of the wait, ms since 1970, after `nowMs`
 */
export function plannedHop(
  { nowMs, expiresAt, tiersMs, final }: PlanFrame,
  notBefore: number,
): Next | undefined {
  const sums = sumsOf(tiersMs);
  const sumMs = sums.notBelow(notBefore - nowMs);
  if (!final && nowMs + sumMs <= expiresAt) return wait(nowMs, sumMs, sums, notBefore);
  // The final try comes as late as the window allows. It is rounded down, so that it does not miss
  // the window.
  const fittingMs = sums.notAbove(Math.min(final ? notBefore : expiresAt, expiresAt) - nowMs);
  if (fittingMs === undefined) return undefined;
  return { ...wait(nowMs, fittingMs, sums, nowMs + fittingMs), final: true };
}

function wait(nowMs: number, sumMs: number, sums: TierSums, notBefore: number) {
  const tierMs = sums.first(sumMs);
  const planned = { kind: 'wait' as const, tierMs, nextAttemptAt: nowMs + sumMs };
  return tierMs === sumMs ? planned : { ...planned, notBefore };
}

/** Beyond this number of residues, only tiers that are multiples of the shortest one are used. */
const MOST_RESIDUES = 1_000_000;

/**
 * The sums of some tiers, each used any number of times. Sums are counted in `unit`, the tiers'
 * common divisor.
 */
class TierSums {
  readonly #unitMs: number;
  /** in units, ascending */
  readonly #tiers: readonly number[];
  /**
   * by remainder of the shortest tier: the smallest sum with this remainder. All larger ones with
   * it are sums too.
   */
  readonly #least: Float64Array;

  /** @param tiersMs ascending, without repeats */
  constructor(tiersMs: readonly number[]) {
    const [shortest = 1] = tiersMs;
    const fits = shortest / tiersMs.reduce(divisor) <= MOST_RESIDUES;
    const used = fits ? tiersMs : tiersMs.filter((tier) => tier % shortest === 0);
    this.#unitMs = used.reduce(divisor);
    this.#tiers = used.map((tier) => tier / this.#unitMs);
    this.#least = leastSums(this.#tiers);
  }

  /** Returns the smallest sum that is not below this time, at least one tier; ms. */
  notBelow(ms: number): number {
    let sum = Math.max(1, Math.ceil(ms / this.#unitMs));
    while (!this.#isSum(sum)) sum++;
    return sum * this.#unitMs;
  }

  /** Returns the largest sum that is not above this time, ms; undefined if every tier is longer. */
  notAbove(ms: number): number | undefined {
    let sum = Math.floor(ms / this.#unitMs);
    while (sum > 0 && !this.#isSum(sum)) sum--;
    return sum > 0 ? sum * this.#unitMs : undefined;
  }

  /** Returns the longest tier that can begin this sum, ms. */
  first(sumMs: number): number {
    const sum = sumMs / this.#unitMs;
    const tier = this.#tiers.findLast((each) => each <= sum && this.#isSum(sum - each)) ?? sum;
    return tier * this.#unitMs;
  }

  /** Zero is the sum of no tiers. */
  #isSum(units: number): boolean {
    return units >= (this.#least[units % this.#least.length] ?? Infinity);
  }
}

/**
 * Goes round the remainders twice with each tier: after that, no sum with one more of it is
 * smaller.
 */
function leastSums(tiers: readonly number[]): Float64Array {
  const [shortest = 1] = tiers;
  const least = new Float64Array(shortest).fill(Infinity);
  least[0] = 0;
  for (const tier of tiers) {
    for (let start = 0; start < divisor(tier, shortest); start++) {
      let at = start;
      for (let step = 0; step < (2 * shortest) / divisor(tier, shortest); step++) {
        const next = (at + tier) % shortest;
        least[next] = Math.min(least[next] ?? Infinity, (least[at] ?? Infinity) + tier);
        at = next;
      }
    }
  }
  return least;
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

const sumsByTiers = new WeakMap<readonly number[], TierSums>();

function sumsOf(tiersMs: readonly number[]): TierSums {
  let sums = sumsByTiers.get(tiersMs);
  if (!sums) sumsByTiers.set(tiersMs, (sums = new TierSums(parkTiers(tiersMs))));
  return sums;
}
