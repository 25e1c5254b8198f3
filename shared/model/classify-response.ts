import {
  type Classification,
  type Outcome,
  type UrlError,
  type UrlErrorCode,
} from './attempt-events';

/**
 * Classifies a response at one URL, or its absence:
 *
 * | at one URL                                        | classification                            |
 * | ------------------------------------------------- | ----------------------------------------- |
 * | 2xx                                               | delivered                                 |
 * | no complete response in time (timeout)            | retry                                     |
 * | 5xx, 408, 423, 425, 429                           | retry, on 429 and 503 after `Retry-After` |
 * | refused or reset (connection), no name (dns)      | retry                                     |
 * | bad certificate (tls): not sent                   | retry: certificates get fixed             |
 * | a status of the destination's `retry.on`          | retry                                     |
 * | 3xx (never followed), other 4xx                   | rejected: not tried again at this URL     |
 * | 410; `webhook-delivery: disable` with any status  | rejected, and the URL is switched off     |
 * | `webhook-delivery: abort-message`, status not 2xx | rejected                                  |
 * | no OAuth2 token (token): not sent                 | retry                                     |
 * | its egress proxy is away (proxy): not sent        | retry                                     |
 * | forbidden_address of a name: not sent             | retry: name servers get mended            |
 * | forbidden_address in a URL, invalid_url: not sent | rejected                                  |
 * | not a final status of HTTP (1xx, 600 up)          | retry: the receiver did not refuse it     |
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

/** A name that has a forbidden address is away, as one that has none. */
const FORBIDDEN_ANSWER: ErrorMeaning = BY_ERROR.dns;

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
 * Longer than several dates. Matching takes time, and a receiver may send any number of characters.
 */
const MOST_CHARACTERS = 200;
/**
 * The three date forms of RFC 9110 section 5.6.7: all begin with the day of the week, and only
 * asctime lacks `GMT`.
 */
const HTTP_DATES = /\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [^,]*(GMT|$)/g;

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
export function classifyError({ code, phase }: Pick<UrlError, 'code' | 'phase'>): ErrorMeaning {
  return code === 'forbidden_address' && phase === 'dns' ? FORBIDDEN_ANSWER : BY_ERROR[code];
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
 * Reads a `Retry-After`: seconds, with a fraction or without, or an HTTP date. Quotes around it are
 * ignored. Of several values, which a proxy makes of a header that it adds a second time, the
 * longest wait holds.
 * @param value of the header; several values are separated by commas
 * @returns ms from `nowMs`, rounded up, from 0 (a past date) to a day; undefined if it has no
 *   readable value
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.slice(0, MOST_CHARACTERS).replaceAll(/["']/g, '').trim() ?? '';
  const dates = text.match(HTTP_DATES);
  const waits = dates ? dates.map((date) => timeOf(date) - nowMs) : text.split(',').map(secondsIn);
  const readable = waits.filter((ms) => !Number.isNaN(ms));
  return readable.length > 0 ? clamp(Math.ceil(Math.max(...readable))) : undefined;
}

/** Returns ms; NaN if the text is no number of seconds. */
function secondsIn(text: string): number {
  const trimmed = text.trim();
  return /^(\d+\.?\d*|\.\d+)$/.test(trimmed) ? Number(trimmed) * 1_000 : NaN;
}

const ENDS_WITH_ZONE = /(?:[A-Z]|[+-]\d{2}:?\d{2})$/;

/** The asctime form names no zone and means GMT. Date.parse would read it as local time. */
function timeOf(date: string): number {
  return Date.parse(ENDS_WITH_ZONE.test(date) ? date : `${date} GMT`);
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
