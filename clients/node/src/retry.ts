/** Decides whether and when to send again. Pure. */

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
/** A server that asks for more is broken or hostile: the client retries after this. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;

const LATER = new Set([408, 425, 429]);
const NEVER = new Set([501, 505, 511]);

/**
 * Returns whether the same request can succeed later. All other refusals are final: 400 and 401
 * would only repeat.
 */
export function canSucceedLater(status: number): boolean {
  return LATER.has(status) || (status >= 500 && !NEVER.has(status));
}

/**
 * Returns the wait after this many failed tries: 0.5 s, doubling to 30 s, minus a random half so
 * that many clients do not return together.
 * @param random from 0 to 1
 */
export function backoffMs(failed: number, random: number): number {
  const full = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (failed - 1));
  return full / 2 + (random * full) / 2;
}

/** Parses the header: seconds or a date. 0 if it is absent or invalid. */
export function retryAfterMs(header: string | null, now: number): number {
  if (header === null || header.trim() === '') return 0;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? 0 : Math.max(0, Math.min(ms, MAX_RETRY_AFTER_MS));
}
