/** Decides when a delayed record is due, and when to read a partition again whose head is not due: pure. */

/**
 * Least pause of a partition, so that the records that fall due within it are returned in one request. A fifth of a second
 * is within the promised second; shorter tiers are read more often.
 */
const LEAST_PAUSE_MS = 200;

/** `now`, or the wait before the next read, ms. */
export type Due = 'now' | { againInMs: number };

/**
 * @param appendedAtMs the broker's timestamp of the record; a tier has one delay, so its records fall due in order
 * @param delayMs the tier's delay
 * @param nowMs also by the brokers' clock
 */
export function whenDue(appendedAtMs: number, delayMs: number, nowMs: number): Due {
  const dueMs = appendedAtMs + delayMs;
  if (dueMs <= nowMs) return 'now';
  const waitMs = Math.min(dueMs - nowMs, delayMs);
  return { againInMs: Math.max(waitMs, Math.min(LEAST_PAUSE_MS, delayMs / 4)) };
}
