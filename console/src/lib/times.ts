import { parseDuration } from '../../../shared/model/time';

/**
 * Times of filters: a span that ends now, such as `1h`, or a date. A date without a time begins in
 * the time zone of the browser, as all times that are shown. Pure.
 */

/** `1h` → ms; undefined: it is no span of time */
export function spanMs(value: string): number | undefined {
  const ms = parseDuration(value);
  return ms !== undefined && ms > 0 ? ms : undefined;
}

const MINUTE_MS = 60_000;
/** JavaScript takes a date without a time for one in UTC. */
const DATE_ONLY = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Returns the time of a filter for the API: a span ends now, rounded to the minute so that requests
 * within a minute are equal.
 */
export function timeOf(value: string, nowMs: number): string {
  const span = spanMs(value);
  if (span !== undefined) {
    return new Date(Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - span).toISOString();
  }
  const ms = Date.parse(DATE_ONLY.test(value) ? `${value}T00:00` : value);
  return Number.isNaN(ms) ? value : new Date(ms).toISOString();
}
