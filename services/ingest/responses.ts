import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type RequestFault } from '../../shared/model/parse-batch';
import { type RejectedCall } from '../../shared/model/rejected-calls';

/**
 * What ingest answers. Clients decide by the status whether to send again: 401 and 400 make most of them throw the calls
 * away, 503 makes all of them keep and repeat them, and so does 429 for most. Any answer, errors too, can be read from a browser's page.
 */

export interface HttpResponse {
  status: number;
  body: string | Buffer;
  headers?: Readonly<Record<string, string>>;
}

interface Refusal {
  status: number;
  message: string;
  /** seconds; clients that heed it wait so long before they repeat */
  retryAfterS?: number;
}

/** Everything that is refused for another reason than what the calls are. */
const REFUSALS = {
  body_too_large: { status: 400, message: 'A request may have at most 512000 bytes after decompression.' },
  invalid_encoding: { status: 400, message: 'The body does not match its Content-Encoding.' },
  unsupported_encoding: { status: 415, message: 'Content-Encoding must be gzip or identity.' },
  invalid_request: { status: 400, message: 'This is not a valid HTTP request.' },
  missing_write_key: {
    status: 401,
    message: 'Send the write key as the user name of Basic authentication, or as `writeKey` in the body.',
  },
  unknown_write_key: { status: 401, message: 'No source has this write key.' },
  source_disabled: { status: 401, message: 'The source of this write key is switched off.' },
  not_found: { status: 404, message: 'Nothing is served at this path.' },
  method_not_allowed: { status: 405, message: 'This path does not allow this method. See the Allow header.' },
  request_timeout: { status: 408, message: 'The request did not arrive in time.' },
  headers_too_large: { status: 431, message: 'The headers are too large.' },
  internal_error: { status: 500, message: 'An internal error occurred. Try again.' },
  rate_limited: { status: 429, message: 'The request limit is reached. Try again after the time in Retry-After.' },
  overloaded: { status: 503, message: 'Too many calls are waiting to be stored. Try again shortly.', retryAfterS: 1 },
  kafka_unavailable: { status: 503, message: 'The calls could not be stored in time. Try again.', retryAfterS: 2 },
  config_unavailable: {
    status: 503,
    message: 'The write key cannot be checked at the moment. Try again.',
    retryAfterS: 2,
  },
} as const satisfies Record<string, Refusal>;

export type RefusalCode = keyof typeof REFUSALS;

const JSON_TYPE = { 'content-type': 'application/json' } as const;
const SUCCESS: HttpResponse = { status: 200, body: '{"success":true}', headers: JSON_TYPE };

/** Exactly `{"success":true}` where nothing was rejected. */
export function success(rejected: readonly RejectedCall[] = []): HttpResponse {
  if (rejected.length === 0) return SUCCESS;
  return { status: 200, body: JSON.stringify({ success: true, rejected }), headers: JSON_TYPE };
}

export function refusal(code: RefusalCode, headers?: Record<string, string>): HttpResponse {
  const { status, message, retryAfterS }: Refusal = REFUSALS[code];
  const retry = retryAfterS === undefined ? undefined : { 'retry-after': String(retryAfterS) };
  return { status, body: errorBody(code, message), headers: { ...JSON_TYPE, ...retry, ...headers } };
}

/** @param waitMs until the next request can pass */
export function rateLimited(waitMs: number): HttpResponse {
  return refusal('rate_limited', { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) });
}

/** What is wrong with the request as a whole, in its own words. */
export function badRequest(fault: RequestFault): HttpResponse {
  return { status: 400, body: errorBody(fault.code, fault.message), headers: JSON_TYPE };
}

function errorBody(code: string, message: string): string {
  return JSON.stringify({ success: false, code, message });
}

/** Writes the answer in one piece, or nothing where the client is gone. */
export function send(req: IncomingMessage, res: ServerResponse, answer: HttpResponse): void {
  if (res.headersSent || res.destroyed) return;
  res.writeHead(answer.status, {
    ...answer.headers,
    ...corsHeaders(req.headers.origin),
    'content-length': Buffer.byteLength(answer.body),
  });
  res.end(answer.body);
}

const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'Retry-After' } as const;

/**
 * Any page may send and read the answer. The origin is repeated rather than `*` because browsers take no `*` from a
 * page that sends credentials; there is nothing here that a cookie could open.
 */
export function corsHeaders(origin: string | undefined): Record<string, string> {
  if (origin === undefined) return ANY_ORIGIN;
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'Retry-After',
    vary: 'Origin',
  };
}

/** The answer to a preflight; kept for a day, or every call would cost two requests. */
export const PREFLIGHT: HttpResponse = {
  status: 204,
  body: '',
  headers: {
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    'access-control-allow-headers': 'authorization, content-type, content-encoding, x-retry-count',
    'access-control-max-age': '86400',
  },
};
