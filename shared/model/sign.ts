import { compact } from '../collections/defined';
import { customSignature, ed25519Signatures, type PreparedSignatures } from './custom-signatures';
import { HmacKey } from './hmac-key';

/**
 * Signs requests, so that receivers can verify their origin: `X-Signature`, as receivers of this
 * product expect it, and the three headers of Standard Webhooks (https://www.standardwebhooks.com),
 * which any of their libraries verifies.
 *
 * A rotation keeps two secrets for a while. `webhook-signature` has room for both; `X-Signature`
 * has room for one:
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
  /** the previous secret, while a rotation overlaps */
  previous?: string;
  /** ms since 1970; without it there is no overlap */
  overlapUntil?: number;
  /** ms since 1970; default `overlapUntil` */
  switchAt?: number;
}

/** The two keys of a secret. Printing them shows no secret. */
interface Keys {
  /** for X-Signature: the whole secret as UTF-8 */
  sha1: HmacKey;
  /** for webhook-signature: `whsec_…` decoded, any other secret as UTF-8 */
  sha256: HmacKey;
}

/** Secrets prepared once, for many requests. */
export interface PreparedSecrets {
  readonly current: Keys;
  readonly previous: Keys | undefined;
  readonly overlapUntil: number;
  readonly switchAt: number;
}

const STANDARD_PREFIX = 'whsec_';

/**
 * Decodes and wraps the secrets. This costs more than a signature, so do it when the destination
 * changes.
 */
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
  // An undecodable secret must not become an empty key, with which anybody could sign.
  return {
    sha1: new HmacKey('sha1', text),
    sha256: new HmacKey('sha256', decoded.length > 0 ? decoded : text),
  };
}

/** The signed parts of one request. */
export interface ToSign {
  /** of the delivery: the same on every try; or of a batch */
  id: string;
  /** seconds since 1970 */
  timestampS: number;
  /** the exact bytes that are sent */
  body: Buffer;
  /** absent: the destination has no secret */
  secrets?: PreparedSecrets | undefined;
  /** the destination's settings of its signatures; absent: `X-Signature` and `webhook-signature` */
  signatures?: PreparedSignatures | undefined;
  /** ms since 1970: selects the phase of a rotation */
  nowMs: number;
}

/**
 * Returns the headers as a flat list of alternating names and values, which undici takes without a
 * copy.
 */
export function signHeaders(toSign: ToSign): string[] {
  const { id, timestampS, body, secrets, signatures, nowMs } = toSign;
  const timestamp = String(timestampS);
  const headers = ['webhook-id', id, 'webhook-timestamp', timestamp];
  if (signatures !== undefined) return addSignatures(headers, toSign, signatures);
  if (secrets === undefined) return headers;

  headers.push('X-Signature', xSignature(secrets, body, nowMs));
  headers.push(
    'webhook-signature',
    standardSignatures(secrets, `${id}.${timestamp}.`, { body, nowMs }),
  );
  return headers;
}

/**
 * Adds the signatures of a destination with `signature` settings. @param headers changed in place
 */
function addSignatures(
  headers: string[],
  toSign: ToSign,
  signatures: PreparedSignatures,
): string[] {
  const { id, timestampS, body, secrets, nowMs } = toSign;
  const { custom, ed25519 } = signatures;
  const signed = `${id}.${String(timestampS)}.`;
  if (secrets && signatures.xSignature) {
    headers.push('X-Signature', xSignature(secrets, body, nowMs));
  }
  if (secrets && custom) {
    headers.push(custom.settings.header, customSignature(custom, body, nowMs < secrets.switchAt));
  }
  const standard = compact([
    secrets ? standardSignatures(secrets, signed, { body, nowMs }) : undefined,
    ...(ed25519 ? ed25519Signatures(ed25519, { signed, body, nowMs }) : []),
  ]);
  if (standard.length > 0) headers.push('webhook-signature', standard.join(' '));
  return headers;
}

function xSignature(
  { current, previous, switchAt }: PreparedSecrets,
  body: Buffer,
  nowMs: number,
): string {
  const keys = previous !== undefined && nowMs < switchAt ? previous : current;
  return keys.sha1.sign('', body, 'hex');
}

function standardSignatures(
  { current, previous, overlapUntil }: PreparedSecrets,
  signed: string,
  { body, nowMs }: { body: Buffer; nowMs: number },
): string {
  const first = standardSignature(current, signed, body);
  return previous !== undefined && nowMs < overlapUntil
    ? `${first} ${standardSignature(previous, signed, body)}`
    : first;
}

function standardSignature(keys: Keys, signed: string, body: Buffer): string {
  return `v1,${keys.sha256.sign(signed, body, 'base64')}`;
}
