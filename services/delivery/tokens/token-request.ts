import { defined } from '../../../shared/collections/defined';
import { type ClientCredentials } from '../http/client-credentials';
import { type SendRequest, type SendResult } from '../http/exchange';

/** The token request of a webhook, and its response (RFC 6749, section 5). Pure. */

/**
 * Returns the request for a token: a POST that goes the way of the webhook, with its timeout and
 * its certificate.
 */
export function tokenRequest(
  { timeoutMs, tls, proxy }: SendRequest,
  { origin, path, headers, body }: ClientCredentials,
): SendRequest {
  return defined({
    origin,
    path,
    headers: [...headers],
    body,
    timeoutMs,
    tls,
    proxy,
  });
}

/** A token, or why there is none: the end of a sentence, without any secret. */
export type TokenAnswer =
  | { token: string; lifetimeMs: number }
  /** `isRefusal`: the endpoint works, and refuses the client */
  | { token?: undefined; why: string; isRefusal?: boolean };

/** For a token endpoint that does not say how long its tokens are valid. */
const DEFAULT_LIFETIME_MS = 5 * 60_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;

export function readToken(result: SendResult): TokenAnswer {
  if (!result.ok) return { why: `${result.error.message}${inPhase(result.error.phase)}` };
  const { status, body, truncated, oddities } = result.response;
  // The beginning of an object is none.
  const fields = parsed(body);
  if (status !== 200) {
    return { why: `it answered ${String(status)}${errorIn(fields)}`, isRefusal: isRefusal(status) };
  }
  if (!fields) return { why: truncated ? cutIn(oddities) : 'its answer is not a JSON object' };
  const { access_token: token, token_type: type = 'bearer', expires_in: seconds } = fields;
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    return { why: 'its answer has no valid access_token' };
  }
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    return { why: 'its tokens are not bearer tokens' };
  }
  const lifetimeMs =
    Number(seconds) > 0 ? Math.min(Number(seconds) * 1_000, MAX_LIFETIME_MS) : DEFAULT_LIFETIME_MS;
  return { token, lifetimeMs };
}

function cutIn(oddities: readonly string[] = []): string {
  const isShort = oddities.length > 0;
  return isShort
    ? `its answer could not be read to its end (${oddities.join(', ')})`
    : 'its answer is longer than 16 KiB';
}

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function inPhase(phase: string | undefined): string {
  return phase === undefined ? '' : ` (${phase})`;
}

function parsed(body: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the error code of RFC 6749 section 5.2. Its description is left out, since it may repeat
 * a secret.
 */
function errorIn(fields: Record<string, unknown> | undefined): string {
  const code = fields?.error;
  return typeof code === 'string' && /^[a-z_]{1,40}$/.test(code) ? ` ${code}` : '';
}
