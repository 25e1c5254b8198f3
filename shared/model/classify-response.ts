import { type ErrorCode, type Outcome } from './attempt-events';

/**
 * What an answer, or the lack of one, means for the URL that gave it:
 *
 * | at one URL                                                  | outcome                                    |
 * | ----------------------------------------------------------- | ------------------------------------------ |
 * | 2xx                                                         | delivered                                  |
 * | no complete answer in time (timeout)                        | retry                                      |
 * | 5xx, 408, 423, 425, 429                                     | retry, on 429 and 503 after `Retry-After`  |
 * | connection refused or reset (connection), no name (dns)     | retry                                      |
 * | bad certificate (tls): no request was sent                  | retry: certificates get mended             |
 * | 3xx (never followed), other 4xx                             | rejected: not tried again at this URL      |
 * | forbidden_address, invalid_url: no request was sent         | rejected                                   |
 * | a status that HTTP does not know as an answer (1xx, 600 up) | retry: nobody said that it was refused     |
 */
const OUTCOME_BY_ERROR: Record<ErrorCode, Outcome> = {
  timeout: 'retry',
  dns: 'retry',
  connection: 'retry',
  tls: 'retry',
  forbidden_address: 'rejected',
  invalid_url: 'rejected',
  // Its status decides (classifyStatus). Without one at hand, trying again is what loses nothing.
  status: 'retry',
};

/** Request timeout, locked, too early, too many requests: "not now" rather than "never". */
const RETRIED_4XX: ReadonlySet<number> = new Set([408, 423, 425, 429]);
/** The two statuses whose `Retry-After` is about the sender's pace. */
const STATUS_WITH_RETRY_AFTER: ReadonlySet<number> = new Set([429, 503]);

/** No window is longer than a day by much, and a receiver that says "in a year" has made a mistake. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** The three date forms of RFC 9110 section 5.6.7; all that matter begin with the day of the week. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/** The outcome of a complete answer with this status. */
export function classifyStatus(status: number): Outcome {
  if (status >= 200 && status < 300) return 'delivered';
  if (status >= 300 && status < 500) return RETRIED_4XX.has(status) ? 'retry' : 'rejected';
  return 'retry';
}

/** The outcome where there was no complete answer. */
export function classifyError(code: ErrorCode): Outcome {
  return OUTCOME_BY_ERROR[code];
}

/**
 * The wait that an answer asks for.
 * @returns ms; undefined where the status has no `Retry-After` of meaning, or there is none that can be read
 */
export function retryAfterMs(status: number, header: string | undefined, nowMs: number): number | undefined {
  return STATUS_WITH_RETRY_AFTER.has(status) ? parseRetryAfter(header, nowMs) : undefined;
}

/**
 * Reads a `Retry-After`: whole seconds or an HTTP date.
 * @returns ms from `nowMs`, from 0 (a date that has passed) to a day; undefined where it is neither
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1_000);
  if (!HTTP_DATE.test(text)) return undefined;
  // The asctime form names no zone and means GMT; Date.parse would take it as local time.
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? undefined : clamp(atMs - nowMs);
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/**
 * The outcome of an attempt from those of its URLs: the first 2xx settles a delivery; else one URL worth another try
 * keeps it going; else it is rejected, also where no URL is left.
 */
export function mergeOutcomes(outcomes: readonly Outcome[]): Outcome {
  if (outcomes.includes('delivered')) return 'delivered';
  return outcomes.includes('retry') ? 'retry' : 'rejected';
}
