import { hash } from 'node:crypto';

/**
 * Signs requests, so that receivers can verify their origin: `X-Signature`, as receivers of this product expect it, and
 * the three headers of Standard Webhooks (https://www.standardwebhooks.com), which any of their libraries verifies.
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

/** Decodes and wraps the secrets. This costs more than a signature, so do it when the destination changes. */
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
  return { sha1: new HmacKey('sha1', text), sha256: new HmacKey('sha256', decoded.length > 0 ? decoded : text) };
}

/** The signed parts of one request. */
export interface ToSign {
  /** the delivery id: the same on every try */
  id: string;
  /** seconds since 1970 */
  timestampS: number;
  /** the exact bytes that are sent */
  body: Buffer;
  /** absent: the destination has no secret */
  secrets?: PreparedSecrets | undefined;
  /** ms since 1970: selects the phase of a rotation */
  nowMs: number;
}

/** Returns the headers as a flat list of alternating names and values, which undici takes without a copy. */
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

type Algorithm = 'sha1' | 'sha256';

const BLOCK_BYTES = 64;
const DIGEST_BYTES: Record<Algorithm, number> = { sha1: 20, sha256: 32 };

/** The buffer for the text to hash. Only one signature is computed at a time. */
let scratch = Buffer.allocUnsafeSlow(16 * 1024);

/**
 * Computes an HMAC (RFC 2104) from one-shot hashes: the result of `crypto.createHmac` at half its cost, since
 * `createHmac` makes a native object for each signature, which the garbage collector must find and free again. The key
 * is kept out of reach of inspection.
 */
export class HmacKey {
  /** the key's inner and outer block, then room for the inner digest */
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  constructor(
    private readonly algorithm: Algorithm,
    key: Buffer,
  ) {
    const short = key.length > BLOCK_BYTES ? Buffer.from(hash(algorithm, key, 'hex'), 'hex') : key;
    this.#inner = Buffer.alloc(BLOCK_BYTES, 0x36);
    this.#outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES[algorithm], 0x5c);
    for (const [i, byte] of short.entries()) {
      this.#inner[i] = byte ^ 0x36;
      this.#outer[i] = byte ^ 0x5c;
    }
  }

  /** @param head ASCII, before the body */
  sign(head: string, body: Buffer, encoding: 'hex' | 'base64'): string {
    const start = BLOCK_BYTES + head.length;
    const end = start + body.length;
    if (end > scratch.length) scratch = Buffer.allocUnsafeSlow(2 * end);
    scratch.set(this.#inner, 0);
    if (head.length > 0) scratch.write(head, BLOCK_BYTES, 'latin1');
    scratch.set(body, start);
    this.#outer.write(hash(this.algorithm, scratch.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1');
    return hash(this.algorithm, this.#outer, encoding);
  }
}
