import {
  type Classification,
  storedBytes,
  type UrlAttempt,
} from '../../../shared/model/attempt-events';
import {
  classifyError,
  classifyStatus,
  retryAfterMs,
} from '../../../shared/model/classify-response';
import { receiverSays, type ReceiverSays } from '../../../shared/model/receiver-says';
import { NOT_STORED, type StoredResponse } from '../../../shared/model/stored-response';
import { type EndpointResponse, type ResponseHeaders, type SendResult } from './exchange';
import { type ResponseBudget } from './response-budget';
import { formsOf, MASK, MOST_SECRETS, redact, redactLocation } from './redact';
import { type Refusal, type Signal } from '../lanes/job';

/**
 * Judges a result for the record and for the lane, and decides how much of the response is stored:
 * without the secrets of its request (redact.ts).
 */

const MOST_HEADER_BYTES = 4 * 1024;
/** Cookies are credentials of the endpoint. */
const NOT_KEPT = new Set(['set-cookie', 'set-cookie2']);

/** The URL that was asked. */
interface AskedUrl {
  id: string;
  origin: string;
  destinationId: string;
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

/** Says whether a response is stored, and is charged for it. */
export type Budget = Pick<ResponseBudget, 'takes'>;

export function judgeResponse(
  endpoint: AskedUrl,
  result: SendResult,
  { nowMs, budget, isTest }: { nowMs: number; budget: Budget; isTest: boolean },
): JudgedResponse {
  const { durationMs, phases, resent, gzip } = result;
  const { id: url, origin, destinationId, destinationVersion } = endpoint;
  const asSent = { url, origin, destinationVersion, durationMs, phases, resent, gzip };
  if (!result.ok) {
    const { classification, signal } = classifyError(result.error);
    const attempt: UrlAttempt = { ...asSent, outcome: classification, error: result.error };
    const kind = result.excuse ? 'withdrawn' : signal;
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
  const isUnwanted = byStatus !== 'delivered' && says.asked !== undefined;
  const classification = isUnwanted ? 'rejected' : byStatus;
  const { masked } = result;
  const secrets = masked
    ? [...masked.flatMap((each) => [...formsOf(each)]), ...endpoint.secrets]
    : endpoint.secrets;
  const stored = storedPart(response);
  // Looking for secrets costs most, so that only what is kept is looked at. A mask is no longer
  // than its secret.
  const isKept =
    secrets.length <= MOST_SECRETS &&
    budget.takes(
      {
        destinationId,
        isTest,
        classification,
        bytes: storedBytes(stored),
      },
      nowMs,
    );
  const attempt: UrlAttempt = {
    ...asSent,
    outcome: classification,
    status,
    response: isKept ? redacted(stored, secrets) : NOT_STORED,
  };
  if (says.asked !== undefined) attempt.asked = says.asked;
  if (response.oddities) attempt.oddities = response.oddities;
  if (classification !== 'delivered') {
    attempt.error = { code: 'status', message: statusMessage(status, says) };
  }
  const waitMs = retryAfterMs(status, headerOf(response, 'retry-after'), nowMs);
  const byWait = statusSignal(status, waitMs);
  const signal: Signal = isUnwanted && byWait.kind === 'failed' ? { kind: 'ok' } : byWait;
  // Its connection is closed, and the next request opens another.
  const isIrregular = response.truncated || response.oddities !== undefined;
  return {
    attempt,
    classification,
    retryAfterMs: isUnwanted ? undefined : waitMs,
    says,
    signal: isIrregular && signal.kind === 'ok' ? { kind: 'irregular' } : signal,
  };
}

const ASKS: Record<NonNullable<ReceiverSays['asked']>, string> = {
  'abort-message': ', and the receiver asked not to get this message again',
  disable: ', and the receiver asked to get nothing more at this URL',
};

function statusMessage(status: number, { asked }: ReceiverSays): string {
  return `the response status was ${String(status)}${asked === undefined ? '' : ASKS[asked]}`;
}

/** Returns why a request was withheld: then no attempt is spent. */
export function withheldBy(result: SendResult): Refusal | undefined {
  return !result.ok && typeof result.excuse === 'object' ? result.excuse : undefined;
}

/** Judges a URL that can never be sent to. */
export function judgeUnusable(endpoint: AskedUrl, problem: string): JudgedResponse {
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

function statusSignal(status: number, waitMs: number | undefined): Signal {
  if (waitMs !== undefined && waitMs > 0) return { kind: 'throttled', retryAfterMs: waitMs };
  if (status === TOO_MANY_REQUESTS) return { kind: 'throttled' };
  return { kind: status < 200 || status >= 500 || status === REQUEST_TIMEOUT ? 'failed' : 'ok' };
}

/** Returns what may be stored of a response, still with the secrets of its request. */
function storedPart({ headers, body, truncated, signature }: EndpointResponse): StoredResponse {
  const stored: StoredResponse = {
    headers: keptHeaders(headers),
    body: body.toString('utf8'),
    truncated,
  };
  if (signature) stored.signature = namedSignature(signature);
  return stored;
}

/** The headers of Standard Webhooks. Their signature holds for five minutes at its receiver. */
const SHOWN_SIGNATURE: ReadonlySet<string> = new Set([
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]);

/**
 * Returns the headers of a signature by name. One of the body alone holds for ever: beside the
 * body, it would let every reader send the event again. So it is masked.
 */
function namedSignature(entries: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {};
  for (let i = 0; i + 1 < entries.length; i += 2) {
    const name = (entries[i] ?? '').toLowerCase();
    named[name] = SHOWN_SIGNATURE.has(name) ? (entries[i + 1] ?? '') : MASK;
  }
  return named;
}

/** Returns the values of a header that may have been sent several times, separated by commas. */
export function headerOf(
  { headers }: Pick<EndpointResponse, 'headers'>,
  name: string,
): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

function keptHeaders(headers: ResponseHeaders): Record<string, string> {
  const result: Record<string, string> = {};
  let left = MOST_HEADER_BYTES;
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || NOT_KEPT.has(name)) continue;
    const text = Array.isArray(value) ? value.join(', ') : value;
    left -= name.length + text.length;
    if (left < 0) break;
    result[name] = text;
  }
  return result;
}

function redacted(stored: StoredResponse, secrets: readonly string[]): StoredResponse {
  const { headers, body, truncated } = stored;
  const masked = Object.entries(headers).map(([name, text]) => [
    name,
    name === 'location' ? redactLocation(text) : redact(text, secrets),
  ]);
  const kept: StoredResponse = {
    headers: Object.fromEntries(masked) as Record<string, string>,
    body: redact(body, secrets, truncated),
    truncated,
  };
  if (stored.signature) kept.signature = stored.signature;
  return kept;
}
