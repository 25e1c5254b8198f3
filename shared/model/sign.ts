import { HmacKey } from './hmac';

/**
 * How a request proves where it comes from: `X-Signature`, as receivers of this product know it, and beside it the
 * three headers of Standard Webhooks (https://www.standardwebhooks.com), which any of their libraries verifies.
 *
 * A rotation keeps two secrets for a while. `webhook-signature` has room for both; `X-Signature` has room for one:
 *
 * | now                             | webhook-signature    | X-Signature |
 * | ------------------------------- | -------------------- | ----------- |
 * | before `overlapUntil`           | current and previous |             |
 * | from `overlapUntil` on          | current              |             |
 * | before `switchAt`               |                      | previous    |
 * | from `switchAt` on              |                      | current     |
 */
export interface SigningSecrets {
  current: string;
  /** the one before, while a rotation overlaps */
  previous?: string;
  /** ms since 1970; without it there is no overlap */
  overlapUntil?: number;
  /** ms since 1970; default `overlapUntil` */
  switchAt?: number;
}

/** A secret as the two keys it means; they print no secret. */
interface Keys {
  /** for X-Signature: the whole secret as UTF-8 */
  sha1: HmacKey;
  /** for webhook-signature: `whsec_…` decoded, any other secret as UTF-8 */
  sha256: HmacKey;
}

/** Secrets made ready once, for many requests. */
export interface PreparedSecrets {
  readonly current: Keys;
  readonly previous: Keys | undefined;
  readonly overlapUntil: number;
  readonly switchAt: number;
}

const STANDARD_PREFIX = 'whsec_';

/** Decodes and wraps the secrets, which costs more than a signature does: do it when the destination changes. */
export function prepareSecrets(secrets: SigningSecrets): PreparedSecrets {
  const overlapUntil = secrets.overlapUntil ?? 0;
  return {
    current: keysOf(secrets.current),
    previous: secrets.previous === undefined ? undefined : keysOf(secrets.previous),
    overlapUntil,
    switchAt: secrets.switchAt ?? overlapUntil,
  };
}

function keysOf(secret: string): Keys {
  const text = Buffer.from(secret, 'utf8');
  const decoded = secret.startsWith(STANDARD_PREFIX)
    ? Buffer.from(secret.slice(STANDARD_PREFIX.length), 'base64')
    : text;
  // Nothing decodable behind the prefix: an empty key would let anybody sign.
  return { sha1: new HmacKey('sha1', text), sha256: new HmacKey('sha256', decoded.length > 0 ? decoded : text) };
}

/** What one request is signed over. */
export interface ToSign {
  /** the delivery id: the same on every try */
  id: string;
  /** seconds since 1970 */
  timestampS: number;
  /** the exact bytes that are sent */
  body: Buffer;
  /** absent: the destination has no secret */
  secrets?: PreparedSecrets | undefined;
  /** ms since 1970: where in a rotation we are */
  nowMs: number;
}

/** The headers as a flat list, name and value in turn: the form in which undici takes them without a copy. */
export function signHeaders({ id, timestampS, body, secrets, nowMs }: ToSign): string[] {
  const timestamp = String(timestampS);
  const headers = ['webhook-id', id, 'webhook-timestamp', timestamp];
  if (secrets === undefined) return headers;

  const { current, previous, overlapUntil, switchAt } = secrets;
  const legacy = previous !== undefined && nowMs < switchAt ? previous : current;
  headers.push('X-Signature', legacy.sha1.sign('', body, 'hex'));

  const signed = `${id}.${timestamp}.`;
  let signatures = standardSignature(current, signed, body);
  if (previous !== undefined && nowMs < overlapUntil) signatures += ` ${standardSignature(previous, signed, body)}`;
  headers.push('webhook-signature', signatures);
  return headers;
}

function standardSignature(keys: Keys, signed: string, body: Buffer): string {
  return `v1,${keys.sha256.sign(signed, body, 'base64')}`;
}
