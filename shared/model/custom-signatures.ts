import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { defined } from '../collections/defined';
import { type CustomSignature, type SignatureSettings } from './endpoint-auth';
import { HmacKey } from './hmac-key';

/** Prepares the signatures that a destination may add to those of every request (sign.ts). */

export interface PreparedSignatures {
  /** X-Signature is sent */
  readonly xSignature: boolean;
  readonly custom: PreparedCustom | undefined;
  readonly ed25519:
    | { readonly current: KeyObject; readonly previous?: KeyObject; readonly overlapUntil: number }
    | undefined;
}

interface PreparedCustom {
  readonly settings: CustomSignature;
  readonly current: HmacKey;
  readonly previous: HmacKey | undefined;
}

/** @param secrets undefined: without a shared secret there is no custom signature */
export function prepareSignatures(
  { xSignature = true, custom, ed25519 }: SignatureSettings<string>,
  secrets: { current: string; previous?: string } | undefined,
): PreparedSignatures {
  const key = (secret: string) =>
    new HmacKey(custom?.algorithm ?? 'sha256', Buffer.from(secret, 'utf8'));
  return {
    xSignature,
    custom: custom &&
      secrets && {
        settings: custom,
        current: key(secrets.current),
        previous: secrets.previous === undefined ? undefined : key(secrets.previous),
      },
    ed25519: ed25519 && {
      current: privateKeyOf(ed25519.current.privateKey),
      ...defined({
        previous: ed25519.previous ? privateKeyOf(ed25519.previous.privateKey) : undefined,
      }),
      overlapUntil: ed25519.overlapUntil ?? 0,
    },
  };
}

const SEED_BYTES = 32;
const PRIVATE_PREFIX = 'whsk_';

/** @param text `whsk_` and base64 of the seed and the public key */
function privateKeyOf(text: string): KeyObject {
  const bytes = Buffer.from(text.slice(PRIVATE_PREFIX.length), 'base64');
  const d = bytes.toString('base64url', 0, SEED_BYTES);
  const x = bytes.toString('base64url', SEED_BYTES);
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
}

/**
 * Returns the value of the custom header. @param isBefore true while receivers check with the
 * previous secret
 */
export function customSignature(
  { settings, current, previous }: PreparedCustom,
  body: Buffer,
  isBefore: boolean,
): string {
  const key = isBefore ? (previous ?? current) : current;
  return (settings.prefix ?? '') + key.sign('', body, settings.encoding);
}

/**
 * Returns the `v1a` signatures of Standard Webhooks: two during a rotation. @param signed
 * `id.timestamp.`
 */
export function ed25519Signatures(
  { current, previous, overlapUntil }: NonNullable<PreparedSignatures['ed25519']>,
  { signed, body, nowMs }: { signed: string; body: Buffer; nowMs: number },
): string[] {
  const content = Buffer.concat([Buffer.from(signed), body]);
  const keys = previous && nowMs < overlapUntil ? [current, previous] : [current];
  return keys.map((key) => `v1a,${sign(null, content, key).toString('base64')}`);
}
