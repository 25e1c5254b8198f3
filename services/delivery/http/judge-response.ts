import {
  type Classification,
  storedBytes,
  type StoredResponse,
  type UrlAttempt,
} from '../../../shared/model/attempt-events';
import {
  classifyError,
  classifyStatus,
  receiverSays,
  type ReceiverSays,
  retryAfterMs,
} from '../../../shared/model/classify-response';
import { type EndpointResponse, headerOf, type ResponseHeaders, type SendResult } from './exchange';
import { type Signal } from '../lanes/job';

/**
 * Judges a result for the record and for the lane, and decides how much of the response is stored.
 *
 * The secrets of a request are masked in the stored part: endpoints echo headers, and a redirect
 * repeats path and query. All users with access to a delivery see its responses, also in Kafka and
 * in the history's database.
 */

const MOST_HEADER_BYTES = 4 * 1024;
/** Cookies are credentials of the endpoint. */
const NOT_KEPT = new Set(['set-cookie', 'set-cookie2']);

/** The URL that was asked. */
interface Asked {
  id: string;
  origin: string;
  destinationVersion: number;
  retriedStatuses?: ReadonlySet<number>;
  /** texts to mask, from `secretTexts` */
  secrets: readonly string[];
}

export interface JudgedResponse {
  attempt: UrlAttempt;
  classification: Classification;
  retryAfterMs: number | undefined;
  /** what its receiver wants of later requests; absent: nothing */
  says?: ReceiverSays;
  /**
   * the result as the lane sees it: a complete response is `ok` there, even if it rejects the
   * delivery
   */
  signal: Signal;
}

const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;

/** Returns whether a response with this classification and so many bytes may be stored. */
export type Keep = (bytes: number, classification: Classification) => boolean;

export function judgeResponse(
  endpoint: Asked,
  result: SendResult,
  context: { nowMs: number; keep: Keep },
): JudgedResponse {
  const { durationMs, phases, resent, gzip } = result;
  const { id: url, origin, destinationVersion } = endpoint;
  const asSent = { url, origin, destinationVersion, durationMs, phases, resent, gzip };
  if (!result.ok) {
    const { classification, signal } = classifyError(result.error.code);
    const attempt: UrlAttempt = { ...asSent, outcome: classification, error: result.error };
    const kind = result.stoodStill ? 'withdrawn' : signal;
    return { attempt, classification, retryAfterMs: undefined, signal: { kind } };
  }
  const { response } = result;
  const { status } = response;
  const says = receiverSays(
    status,
    headerOf(response, 'webhook-delivery'),
    endpoint.retriedStatuses,
  );
  const byStatus = classifyStatus(status, endpoint.retriedStatuses);
  // What the receiver asks for holds with every status, and shows that it works.
  const isRefused = byStatus !== 'delivered' && says.asked !== undefined;
  const classification = isRefused ? 'rejected' : byStatus;
  const { masked } = result;
  const secrets = masked ? [...masked.flatMap(formsOf), ...endpoint.secrets] : endpoint.secrets;
  const stored = storedPart(response, secrets);
  const isKept = context.keep(storedBytes(stored), classification);
  const attempt: UrlAttempt = {
    ...asSent,
    outcome: classification,
    status,
    response: isKept ? stored : NOT_STORED,
  };
  if (says.asked !== undefined) attempt.asked = says.asked;
  if (response.oddities) attempt.oddities = response.oddities;
  if (classification !== 'delivered') {
    attempt.error = { code: 'status', message: statusMessage(status, says) };
  }
  const wait = retryAfterMs(status, headerOf(response, 'retry-after'), context.nowMs);
  const byWait = statusSignal(status, wait);
  const signal: Signal = isRefused && byWait.kind === 'failed' ? { kind: 'ok' } : byWait;
  // Its connection is closed, and the next request opens another.
  const isSlow = response.truncated || response.oddities !== undefined;
  return {
    attempt,
    classification,
    retryAfterMs: isRefused ? undefined : wait,
    says,
    signal: isSlow && signal.kind === 'ok' ? { kind: 'slow' } : signal,
  };
}

const ASKS: Record<NonNullable<ReceiverSays['asked']>, string> = {
  'abort-message': ', and the receiver asked not to get this message again',
  disable: ', and the receiver asked to get nothing more at this URL',
};

function statusMessage(status: number, { asked }: ReceiverSays): string {
  return `the response status was ${String(status)}${asked === undefined ? '' : ASKS[asked]}`;
}

/** Judges a URL that can never be sent to. */
export function judgeUnusable(endpoint: Asked, problem: string): JudgedResponse {
  const error = { code: 'invalid_url' as const, message: problem };
  const { id: url, origin, destinationVersion } = endpoint;
  const attempt: UrlAttempt = {
    url,
    origin,
    destinationVersion,
    outcome: 'rejected',
    durationMs: 0,
    error,
  };
  return {
    attempt,
    classification: 'rejected',
    retryAfterMs: undefined,
    signal: { kind: 'withdrawn' },
  };
}

function statusSignal(status: number, retryAfterMs: number | undefined): Signal {
  if (retryAfterMs !== undefined && retryAfterMs > 0) return { kind: 'throttled', retryAfterMs };
  if (status === TOO_MANY_REQUESTS) return { kind: 'throttled' };
  return { kind: status < 200 || status >= 500 || status === REQUEST_TIMEOUT ? 'failed' : 'ok' };
}

/** Stands for a response that is not stored, because its endpoint has used up the budget. */
const NOT_STORED: StoredResponse = { headers: {}, body: '', truncated: true };

function storedPart(response: EndpointResponse, secrets: readonly string[]): StoredResponse {
  return {
    headers: keptHeaders(response.headers, secrets),
    body: redact(response.body.toString('utf8'), secrets, response.truncated),
    truncated: response.truncated,
  };
}

function keptHeaders(headers: ResponseHeaders, secrets: readonly string[]): Record<string, string> {
  const result: Record<string, string> = {};
  let left = MOST_HEADER_BYTES;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || NOT_KEPT.has(name)) continue;
    const text = Array.isArray(value) ? value.join(', ') : value;
    left -= name.length + text.length;
    if (left < 0) break;
    result[name] = name === 'location' ? redactLocation(text) : redact(text, secrets);
  }
  return result;
}

const MASK = '***';
/** Shorter texts occur by chance in every response, and are too short to be a secret. */
const LEAST_LENGTH = 4;
/**
 * Parts of a path of at least this length are masked on their own too: they may be tokens, as in
 * Slack's URLs.
 */
const TOKEN_LENGTH = 12;

/**
 * Returns the texts to mask in responses to requests with this path (including its query) and these
 * static headers (alternating names and values), and these other secrets, longest first.
 */
export function secretTexts(
  path: string,
  staticHeaders: readonly string[],
  others: readonly string[] = [],
): string[] {
  const found = new Set<string>();
  const add = (text: string) => {
    for (const form of formsOf(text)) if (form.length >= LEAST_LENGTH) found.add(form);
  };
  // Resolved against a base, a path of two slashes would be a host.
  const { pathname, searchParams } = new URL(`http://host${path}`);
  if (path.length > 1) add(path);
  if (pathname.length > 1) add(pathname);
  for (const part of pathname.split('/')) if (part.length >= TOKEN_LENGTH) add(part);
  for (const value of searchParams.values()) add(value);
  for (let i = 1; i < staticHeaders.length; i += 2) {
    for (const text of credentialsIn(staticHeaders[i] ?? '')) add(text);
  }
  for (const text of others) add(text);
  return [...found].sort((a, b) => b.length - a.length);
}

/** Returns the spellings of a secret in which a response may repeat it. */
function formsOf(text: string): string[] {
  return [text, decoded(text), encodeURIComponent(text), text.replaceAll('/', '\\/')];
}

/**
 * Returns a header's value, the credentials after its scheme (`Bearer …`), and the user and
 * password of `Basic`.
 */
function credentialsIn(value: string): string[] {
  const [, scheme, credentials] = /^([A-Za-z]+) +(\S+)$/.exec(value) ?? [];
  if (scheme === undefined || credentials === undefined) return [value];
  if (scheme.toLowerCase() !== 'basic') return [value, credentials];
  const pair = Buffer.from(credentials, 'base64').toString('utf8');
  return [value, credentials, pair, pair.slice(pair.indexOf(':') + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Masks every secret. @param cut true if the text was cut off, so that its end may be the beginning
 * of a secret
 */
function redact(text: string, secrets: readonly string[], cut = false): string {
  let result = text;
  for (const secret of secrets) {
    if (result.includes(secret)) result = result.replaceAll(secret, MASK);
  }
  return cut ? redactEnd(result, secrets) : result;
}

function redactEnd(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = Math.min(secret.length, text.length); length >= LEAST_LENGTH; length--) {
      if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + MASK;
    }
  }
  return text;
}

/**
 * Returns the origin of a redirect's target. The rest may be our path and query in another
 * spelling.
 */
function redactLocation(location: string): string {
  if (!URL.canParse(location)) return MASK;
  const { origin, pathname, search } = new URL(location);
  return pathname.length > 1 || search !== '' ? `${origin}/${MASK}` : origin;
}
