import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Verifies that the sender of a webhook knows the shared secret. A request carries two signatures:
 * `webhook-signature` (https://www.standardwebhooks.com) covers the body, its id and its timestamp;
 * `X-Signature` covers only the body, so a captured request can be replayed forever.
 */

/**
 * Selects the signature that counts. `standard`: `webhook-signature`, within the tolerance;
 * X-Signature is ignored. `x-signature`: only X-Signature, for requests that lost their other
 * headers on the way; an attacker can replay them. `any`: the first if the request has it,
 * otherwise the second; as weak as the second.
 */
export type Scheme = 'standard' | 'x-signature' | 'any';

/** Headers of Node's http, or of `fetch`. */
export type HeadersLike =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

export interface WebhookRequest {
  headers: HeadersLike;
  /** the exact bytes: a body parsed and serialized again has another signature */
  body: string | Uint8Array;
  /** the shared secret; during a rotation also the one before or after it */
  secret: string | readonly string[];
  /**
   * allowed distance of `webhook-timestamp` from now (default 300 s): a finite number, 0 or more
   */
  toleranceS?: number;
  scheme?: Scheme;
  /** ms since 1970 (default: now) */
  now?: number;
}

/** A verified request. */
export interface VerifiedWebhook {
  /**
   * the same each time this event is sent: drop an id that you have handled. Absent if only
   * X-Signature was verified
   */
  id?: string;
  /**
   * the body, parsed by `JSON.parse`: a number that no double holds, such as an id of 19 digits,
   * keeps its digits only in the text of the body
   */
  event: WebhookEvent;
}

/** A delivered call. */
export interface WebhookEvent {
  type: string;
  userId?: string;
  anonymousId?: string;
  messageId?: string;
  timestamp: string;
  event?: string;
  properties?: Record<string, unknown>;
  traits?: Record<string, unknown>;
  context?: Record<string, unknown>;
  [field: string]: unknown;
}

export type WebhookErrorCode =
  'no_signature' | 'no_timestamp' | 'too_old' | 'too_new' | 'bad_signature' | 'invalid_body';

/** The reason to refuse a request: respond with 401, or with 400 for `invalid_body`. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  constructor(
    readonly code: WebhookErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const DEFAULT_TOLERANCE_S = 300;
const SECRET_PREFIX = 'whsec_';

/**
 * Verifies the signature in constant time.
 * @throws WebhookError if the request cannot be trusted
 * @throws TypeError for wrong arguments
 */
export function verifyWebhook(request: WebhookRequest): VerifiedWebhook {
  const { body, scheme = 'standard' } = request;
  if (typeof body !== 'string' && !((body as unknown) instanceof Uint8Array)) {
    throw new TypeError(
      'verifyWebhook needs the raw body, as text or bytes: parsed, it cannot be verified',
    );
  }
  const secrets = typeof request.secret === 'string' ? [request.secret] : request.secret;
  // Anyone could sign with an empty key.
  if (secrets.length === 0 || secrets.includes('')) {
    throw new TypeError('verifyWebhook needs a secret');
  }
  requireTimes(request);

  const signatures = headerOf(request.headers, 'webhook-signature');
  if (scheme === 'standard' || (scheme === 'any' && signatures !== undefined)) {
    const id = checkStandard(request, secrets, signatures);
    return { id, event: parse(body) };
  }
  checkXSignature(request, secrets);
  return { event: parse(body) };
}

function checkStandard(
  request: WebhookRequest,
  secrets: readonly string[],
  signatures: string | undefined,
): string {
  const id = headerOf(request.headers, 'webhook-id');
  if (signatures === undefined || id === undefined) {
    throw new WebhookError('no_signature', 'the request has no webhook-signature or no webhook-id');
  }
  const timestamp = headerOf(request.headers, 'webhook-timestamp') ?? '';
  checkTime(timestamp, request);
  const given = signatures.split(' ');
  for (const secret of secrets) {
    const hmac = createHmac('sha256', standardKey(secret))
      .update(`${id}.${timestamp}.`)
      .update(request.body);
    const wanted = `v1,${hmac.digest('base64')}`;
    if (given.some((signature) => isSame(signature, wanted))) return id;
  }
  throw new WebhookError('bad_signature', 'no webhook-signature matches');
}

function checkXSignature({ headers, body }: WebhookRequest, secrets: readonly string[]): void {
  const given = headerOf(headers, 'x-signature');
  if (given === undefined) throw new WebhookError('no_signature', 'the request has no X-Signature');
  const matches = (secret: string) =>
    isSame(given.toLowerCase(), createHmac('sha1', secret).update(body).digest('hex'));
  if (!secrets.some(matches)) throw new WebhookError('bad_signature', 'X-Signature does not match');
}

/** Comparisons with NaN are false: a request of any age would pass. */
function requireTimes({ toleranceS = DEFAULT_TOLERANCE_S, now = 0 }: WebhookRequest): void {
  if (!Number.isFinite(toleranceS) || toleranceS < 0) {
    throw new TypeError(
      'verifyWebhook needs toleranceS to be a finite number of seconds, 0 or more',
    );
  }
  if (!Number.isFinite(now)) {
    throw new TypeError('verifyWebhook needs now to be a finite number of ms since 1970');
  }
}

function checkTime(
  timestamp: string,
  { toleranceS = DEFAULT_TOLERANCE_S, now = Date.now() }: WebhookRequest,
): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookError('no_timestamp', 'webhook-timestamp is no number of seconds');
  }
  const aheadMs = Number(timestamp) * 1000 - now;
  if (aheadMs < -toleranceS * 1000) {
    throw new WebhookError('too_old', 'the request is older than the tolerance');
  }
  if (aheadMs > toleranceS * 1000) {
    throw new WebhookError('too_new', 'the request is from the future');
  }
}

/** `whsec_…` is base64, any other secret is its own text. */
function standardKey(secret: string): Buffer {
  const text = Buffer.from(secret, 'utf8');
  const key = secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    : text;
  return key.length > 0 ? key : text;
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  // The length of a signature is not secret.
  return a.length === b.length && timingSafeEqual(a, b);
}

function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'object' ? found[0] : found;
}

function isFetchHeaders(headers: HeadersLike): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function parse(body: string | Uint8Array): WebhookEvent {
  const event = jsonOf(typeof body === 'string' ? body : new TextDecoder().decode(body));
  if (typeof event === 'object' && event !== null && !Array.isArray(event)) {
    return event as WebhookEvent;
  }
  throw new WebhookError('invalid_body', 'the body is signed, but is no JSON object');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
