import { type Classification, type Outcome, type UrlErrorCode } from './attempt-events';

/**
 * Classifies a response at one URL, or its absence:
 *
 * | at one URL                                                  | classification                                |
 * | ----------------------------------------------------------- |
 * --------------------------------------------- |
 * | 2xx                                                         | delivered                                     |
 * | no complete response in time (timeout)                      | retry                                         |
 * | 5xx, 408, 423, 425, 429                                     | retry, on 429 and 503 after `Retry-After`     |
 * | connection refused or reset (connection), no name (dns)     | retry                                         |
 * | bad certificate (tls): no request was sent                  | retry: certificates get fixed                 |
 * | a status of the destination's `retry.on`                    | retry                                         |
 * | 3xx (never followed), other 4xx                             | rejected: not tried again at this URL         |
 * | no OAuth2 token (token), or its egress proxy is away (proxy): no request was sent | retry                    |
 * | forbidden_address, invalid_url: no request was sent         | rejected                                      |
 * | a status that HTTP does not define as final (1xx, 600 up)   | retry: the receiver did not refuse it         |
 */
const BY_ERROR: Readonly<Record<UrlErrorCode, ErrorMeaning>> = {
  timeout: { classification: 'retry', signal: 'timeout' },
  dns: { classification: 'retry', signal: 'failed' },
  connection: { classification: 'retry', signal: 'failed' },
  tls: { classification: 'retry', signal: 'failed' },
  // No token, so the endpoint was not asked, or has refused the token before.
  token: { classification: 'retry', signal: 'withdrawn' },
  proxy: { classification: 'retry', signal: 'withdrawn' },
  // Nothing was sent, so the endpoint is not to blame.
  forbidden_address: { classification: 'rejected', signal: 'withdrawn' },
  invalid_url: { classification: 'rejected', signal: 'withdrawn' },
  // Its status decides (classifyStatus). Without a status, a retry loses nothing.
  status: { classification: 'retry', signal: 'failed' },
};

/** The meaning of an error for the delivery and for the lane of its URL. */
interface ErrorMeaning {
  classification: Classification;
  /** the kind of the lane's signal, unless this process stood still */
  signal: 'timeout' | 'failed' | 'withdrawn';
}

/** Request timeout, locked, too early, too many requests: "not now" rather than "never". */
const RETRIED_4XX: ReadonlySet<number> = new Set([408, 423, 425, 429]);
/** The two statuses whose `Retry-After` concerns the sender's rate. */
const STATUS_WITH_RETRY_AFTER: ReadonlySet<number> = new Set([429, 503]);

/** Windows are hardly longer than a day, and a receiver that asks for a year has made a mistake. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/**
 * The three date forms of RFC 9110 section 5.6.7; all relevant ones begin with the day of the week.
 */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Returns the classification of a complete response with this status.
 * @param retried further statuses that are retried
 */
export function classifyStatus(status: number, retried?: ReadonlySet<number>): Classification {
  if (status >= 200 && status < 300) return 'delivered';
  if (status >= 300 && status < 500) {
    return RETRIED_4XX.has(status) || retried?.has(status) ? 'retry' : 'rejected';
  }
  return 'retry';
}

/** Returns the classification, and the signal for the lane, without a complete response. */
export function classifyError(code: UrlErrorCode): ErrorMeaning {
  return BY_ERROR[code];
}

/**
 * Returns the wait that a response asks for.
 * @returns ms; undefined if `Retry-After` has no meaning for the status, is absent or is unreadable
 */
export function retryAfterMs(
  status: number,
  header: string | undefined,
  nowMs: number,
): number | undefined {
  return STATUS_WITH_RETRY_AFTER.has(status) ? parseRetryAfter(header, nowMs) : undefined;
}

/**
 * Reads a `Retry-After`: whole seconds or an HTTP date.
 * @returns ms from `nowMs`, from 0 (a past date) to a day; undefined if it is neither
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1_000);
  if (!HTTP_DATE.test(text)) return undefined;
  // The asctime form names no zone and means GMT. Date.parse would read it as local time.
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(atMs) ? undefined : clamp(atMs - nowMs);
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/**
 * Returns the outcome of an attempt from the classifications of its URLs. The first 2xx settles a
 * delivery. Otherwise one URL to retry keeps it going. Otherwise it is rejected, also if no URL is
 * left.
 */
export function mergeClassifications(urls: readonly Classification[]): Outcome {
  if (urls.includes('delivered')) return 'delivered';
  return urls.includes('retry') ? 'retry' : 'rejected';
}
