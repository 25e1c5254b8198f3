import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type RequestFault } from './calls/parse-batch';
import { type RejectedCall } from '../../shared/model/rejected-calls';

/**
 * The HTTP responses of ingest. Clients decide by the status whether to send again: most drop the
 * calls after 401 and 400, all keep and repeat them after 503, and most after 429. A browser's page
 * can read every response, errors too.
 */

export interface HttpResponse {
  status: number;
  body: string | Buffer;
  headers?: Readonly<Record<string, string>>;
}

interface Refusal {
  status: number;
  message: string;
  /** seconds that clients should wait before they send again */
  retryAfterS?: number;
}

/** Refusals for other reasons than the calls themselves. */
const REFUSALS = {
  body_too_large: {
    status: 400,
    message: 'A request may have at most 512000 bytes after decompression.',
  },
  invalid_encoding: { status: 400, message: 'The body does not match its Content-Encoding.' },
  unsupported_encoding: { status: 415, message: 'Content-Encoding must be gzip, or none.' },
  invalid_request: { status: 400, message: 'This is not a valid HTTP request.' },
  missing_write_key: {
    status: 401,
    message:
      'Send the write key as the user name of Basic authentication, or as `writeKey` in ' +
      'the query or the body.',
  },
  unknown_write_key: { status: 401, message: 'No source has this write key.' },
  source_disabled: { status: 401, message: 'The source of this write key is switched off.' },
  not_found: { status: 404, message: 'Nothing is served at this path.' },
  method_not_allowed: {
    status: 405,
    message: 'This path does not allow this method. See the Allow header.',
  },
  request_timeout: { status: 408, message: 'The request did not arrive in time.' },
  headers_too_large: { status: 431, message: 'The headers are too large.' },
  internal_error: { status: 500, message: 'An internal error occurred. Try again.' },
  rate_limited: {
    status: 429,
    message: 'The request limit is reached. Try again after the time in Retry-After.',
  },
  overloaded: {
    status: 503,
    message: 'Too many calls are waiting to be stored. Try again shortly.',
    retryAfterS: 1,
  },
  kafka_unavailable: {
    status: 503,
    message: 'The calls could not be stored in time. Try again.',
    retryAfterS: 2,
  },
  config_unavailable: {
    status: 503,
    message: 'The write key cannot be checked at the moment. Try again.',
    retryAfterS: 2,
  },
} as const satisfies Record<string, Refusal>;

export type RefusalCode = keyof typeof REFUSALS;

const JSON_TYPE = { 'content-type': 'application/json' } as const;
const SUCCESS: HttpResponse = { status: 200, body: '{"success":true}', headers: JSON_TYPE };

/** Returns the success response: exactly `{"success":true}` if no call was rejected. */
export function success(rejected: readonly RejectedCall[] = []): HttpResponse {
  if (rejected.length === 0) return SUCCESS;
  return { status: 200, body: JSON.stringify({ success: true, rejected }), headers: JSON_TYPE };
}

export function refusal(code: RefusalCode, headers?: Record<string, string>): HttpResponse {
  const { status, message, retryAfterS }: Refusal = REFUSALS[code];
  const retry = retryAfterS === undefined ? undefined : { 'retry-after': String(retryAfterS) };
  return {
    status,
    body: errorBody(code, message),
    headers: { ...JSON_TYPE, ...retry, ...headers },
  };
}

/** Returns the message for people beside the code. */
export function refusalMessage(code: RefusalCode): string {
  return REFUSALS[code].message;
}

/** @param waitMs until the next request can pass */
export function rateLimited(waitMs: number): HttpResponse {
  return refusal('rate_limited', { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1_000))) });
}

/** Returns the response to a request that is wrong as a whole, with the fault's own message. */
export function badRequest(fault: RequestFault): HttpResponse {
  return { status: 400, body: errorBody(fault.code, fault.message), headers: JSON_TYPE };
}

function errorBody(code: string, message: string): string {
  return JSON.stringify({ success: false, code, message });
}

/** Writes the response in one piece, or nothing if the client is gone. */
export function send(req: IncomingMessage, res: ServerResponse, response: HttpResponse): void {
  if (res.headersSent || res.destroyed) return;
  res.writeHead(response.status, {
    ...response.headers,
    ...corsHeaders(req.headers.origin),
    'content-length': Buffer.byteLength(response.body),
  });
  res.end(response.body);
}

const ANY_ORIGIN = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After',
} as const;

/**
 * Lets any page send requests and read the response. It repeats the origin because browsers do not
 * accept `*` for requests with credentials; ingest uses no cookies.
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

/** A name of a header (RFC 9110, `token`). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** More than any page sets. What a client asks for beyond this is not repeated. */
const MOST_ASKED = 100;
const LONGEST_ASKED = 4_096;
const USUALLY_ASKED = 'authorization, content-type, content-encoding, x-retry-count';

/**
 * Returns the response to a preflight, cached for a day: otherwise every call would cost two
 * requests. It allows every header that is asked for: tracers on a page add their own to each
 * request, and no header gives any right, since write keys are the only credentials.
 * @param asked `Access-Control-Request-Headers`
 */
export function preflightResponse(asked: string | undefined): HttpResponse {
  return {
    status: 204,
    body: '',
    headers: {
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': namesIn(asked) || USUALLY_ASKED,
      'access-control-max-age': '86400',
    },
  };
}

function namesIn(asked = ''): string {
  const names = asked.slice(0, LONGEST_ASKED).split(',', MOST_ASKED);
  // The last name may be cut off: nobody asked for that.
  if (asked.length > LONGEST_ASKED) names.pop();
  return names
    .map((name) => name.trim())
    .filter((name) => HEADER_NAME.test(name))
    .join(', ');
}

const READY: HttpResponse = {
  status: 200,
  body: '{"status":"ok"}',
  headers: { ...JSON_TYPE, 'cache-control': 'no-store' },
};
const NOT_READY: HttpResponse = {
  status: 503,
  body: '{"status":"unavailable"}',
  headers: { ...JSON_TYPE, 'cache-control': 'no-store' },
};

/** Returns the response to the health check of a load balancer. */
export function healthResponse(isReady: boolean): HttpResponse {
  return isReady ? READY : NOT_READY;
}
