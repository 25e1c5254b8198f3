/** When a delayed record is due, and when a partition whose head is not due is looked at again: pure. */

/**
 * A partition is not looked at again for each record that falls due: what is due by then goes in one request. A fifth of
 * a second late is within the promise of one; tiers shorter than that are looked at more often.
 */
const LEAST_PAUSE_MS = 200;

/** `now`, or how long to wait before it is read again, ms. */
export type Due = 'now' | { againInMs: number };

/**
 * @param appendedAtMs the broker's stamp of the record: file order is due order, since each tier has one delay
 * @param delayMs of the tier
 * @param nowMs by the brokers' clock as well
 */
export function whenDue(appendedAtMs: number, delayMs: number, nowMs: number): Due {
  const dueMs = appendedAtMs + delayMs;
  if (dueMs <= nowMs) return 'now';
  const waitMs = Math.min(dueMs - nowMs, delayMs);
  return { againInMs: Math.max(waitMs, Math.min(LEAST_PAUSE_MS, delayMs / 4)) };
}
