import { generateKeyPairSync } from 'node:crypto';
import { type SignatureFields } from '../../../shared/api/endpoint-auth';
import { compact, defined } from '../../../shared/collections/defined';
import { type Destination, type Encrypted } from '../../../shared/model/config';
import {
  type Ed25519KeyPair,
  type Ed25519Keys,
  type SignatureSettings,
} from '../../../shared/model/endpoint-auth';
import { isJsonObject, type Json } from '../../../shared/model/message';
import { isoTime } from '../../../shared/model/time';
import { errorAt, type FieldError, Problem } from '../http/problem';
import { fieldsOf } from '../http/validate';
import { headerNames } from './stored-webhook';

/** The signatures of a destination, and its Ed25519 keys. */

/**
 * Returns a new pair in the encoding of Standard Webhooks. The private part is the seed and the
 * public key.
 */
function newEd25519Pair(now: Date): Ed25519KeyPair<string> {
  const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, publicKey] = [jwk.d, jwk.x].map((part) => Buffer.from(part ?? '', 'base64url')) as [
    Buffer,
    Buffer,
  ];
  return {
    publicKey: `whpk_${publicKey.toString('base64')}`,
    privateKey: `whsk_${Buffer.concat([seed, publicKey]).toString('base64')}`,
    createdAt: now.toISOString(),
  };
}

/** A destination that is switched to Ed25519 gets a key pair; switched off, it loses it. */
export function sealSignature(
  { xSignature, ed25519, custom }: SignatureFields,
  before: SignatureSettings<Encrypted> | undefined,
  { now, encrypt }: { now: Date; encrypt: (text: string) => Encrypted },
): SignatureSettings<Encrypted> {
  const keys = ed25519
    ? (keysNow(before?.ed25519, now) ?? { current: sealed(newEd25519Pair(now), encrypt) })
    : undefined;
  return defined({
    xSignature,
    custom: custom
      ? {
          header: custom.header,
          algorithm: custom.algorithm,
          encoding: custom.encoding,
          ...defined({ prefix: custom.prefix ?? undefined }),
        }
      : undefined,
    ed25519: keys,
  });
}

function sealed(
  pair: Ed25519KeyPair<string>,
  encrypt: (text: string) => Encrypted,
): Ed25519KeyPair<Encrypted> {
  return { ...pair, privateKey: encrypt(pair.privateKey) };
}

/** Returns the keys without an expired one. */
function keysNow<S>(keys: Ed25519Keys<S> | undefined, now: Date): Ed25519Keys<S> | undefined {
  if (!keys?.previous || now.getTime() < (keys.overlapUntil ?? 0)) return keys;
  return { current: keys.current };
}

/**
 * Rotates the Ed25519 key. Both keys sign during the overlap.
 * @throws Problem `conflict` if the destination has no key, or another rotation is in progress
 */
export function rotateEd25519(
  destination: Destination,
  overlapMs: number,
  { now, encrypt }: { now: Date; encrypt: (text: string) => Encrypted },
): Destination {
  const keys = keysNow(destination.signature?.ed25519, now);
  if (!keys) {
    throw new Problem(
      'conflict',
      'The destination has no Ed25519 key. Set signature.ed25519 to true first',
    );
  }
  if (keys.previous && overlapMs > 0) {
    throw new Problem(
      'conflict',
      `A rotation is in progress until ${isoTime(keys.overlapUntil ?? 0)}. ` +
        'Wait, or end it with an overlap of 0s',
    );
  }
  const current = sealed(newEd25519Pair(now), encrypt);
  const ed25519 =
    overlapMs > 0
      ? { current, previous: keys.current, overlapUntil: now.getTime() + overlapMs }
      : { current };
  return {
    ...destination,
    signature: { ...destination.signature, ed25519 },
    updatedAt: now.toISOString(),
  };
}

export function publicKeys(destination: Destination, now: Date) {
  const keys = keysNow(destination.signature?.ed25519, now);
  if (!keys) return [];
  const { current, previous, overlapUntil = 0 } = keys;
  const shown = ({ publicKey: key, createdAt }: Ed25519KeyPair<unknown>, until: string | null) => ({
    key,
    createdAt,
    until,
  });
  return compact([
    shown(current, null),
    previous ? shown(previous, isoTime(overlapUntil)) : undefined,
  ]);
}

export function signatureFields(signature: SignatureSettings<unknown> | undefined) {
  if (!signature) return undefined;
  const { xSignature, ed25519, custom } = signature;
  return defined({
    xSignature,
    ed25519: ed25519 ? true : undefined,
    custom: custom ? { ...custom } : undefined,
  });
}

export function signatureView(signature: SignatureSettings<unknown> | undefined) {
  if (!signature) return null;
  const { xSignature = true, ed25519, custom } = signature;
  return {
    xSignature,
    ed25519: ed25519 !== undefined,
    custom: custom ? { ...custom, prefix: custom.prefix ?? null } : null,
  };
}

interface Beside {
  /** the destination will have a shared secret */
  isSigned: boolean;
  /** its webhooks, sent or stored */
  webhooks: readonly { headers?: unknown; auth?: unknown }[];
}

/**
 * Returns the errors of the custom signature beside the other fields. @param body with any mistakes
 */
export function signatureErrors(body: Json, { isSigned, webhooks }: Beside): FieldError[] {
  const signature = fieldsOf(fieldsOf(body).signature);
  if (!isJsonObject(signature.custom)) return [];
  const { header } = signature.custom;
  const at = ['signature', 'custom'];
  const errors = isSigned ? [] : [errorAt(at, 'needs a shared secret. Set sharedSecret too')];
  const name = typeof header === 'string' ? header.toLowerCase() : '';
  if (name === 'x-signature' && signature.xSignature !== false) {
    errors.push(
      errorAt([...at, 'header'], 'is set by Waypost itself. Set xSignature to false first'),
    );
  }
  if (webhooks.some((webhook) => headerNames(webhook).includes(name))) {
    errors.push(errorAt([...at, 'header'], 'is already a header of a webhook'));
  }
  return errors;
}
