import { createCipheriv, createDecipheriv, createHash, randomBytes, hash } from 'node:crypto';
import { type Encrypted, type WriteKey, SYSTEM_ID, type SystemEntry } from '../model/config';
import { type SecretField, writeKeyField } from '../model/secret-fields';
import { AppError } from '../runtime/errors';
import { type Log } from '../telemetry/log';
import { type ConfigReader, type ConfigView } from './types';

/**
 * Encrypts the confidential parts of `config`: shared secrets, header values, URLs and write keys.
 *
 * An encrypted text can be decrypted only for its own field of its own entry, since both are
 * authenticated with it. A writer of `config` therefore cannot move a customer's secret to another
 * destination, nor into a header that a receiver reads.
 */

const ALGORITHM = 'aes-256-gcm';
/**
 * NIST SP 800-38D: GCM is designed for 96 bits. Random ones are safe for 2^32 texts under one key.
 */
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface Encryptor {
  /** @param field that the text belongs to */
  encrypt(text: string, field: SecretField): Encrypted;
  /**
   * Returns the text, or a reason if no key decrypts it for this field. Such a failure concerns one
   * entry, and each caller handles it in its own way.
   */
  decrypt(sealed: Encrypted, field: SecretField): Opened;
  /** Returns whether the first key encrypted it, judged by the key's name without decrypting */
  isCurrent(sealed: Encrypted): boolean;
}

/** The text, or one sentence (without any secret) that explains its absence. */
type Opened = { text: string; why?: undefined } | { text?: undefined; why: string };

interface Key {
  id: string;
  bytes: Buffer;
}

/**
 * @param keys 32 bytes each: the first encrypts, all decrypt, so that a key can be rotated without
 *   rewriting `config`
 * @throws AppError `bad_settings` without a key, or for a key of another length
 */
export function createEncryptor(keys: readonly Buffer[]): Encryptor {
  const ring = keys.map((bytes): Key => ({ id: keyId(bytes), bytes }));
  const first = ring[0];
  if (!first || ring.some((key) => key.bytes.length !== 32)) {
    throw new AppError(
      'bad_settings',
      'WAYPOST_SECRET_KEY must hold one or more keys of 32 bytes in base64',
    );
  }
  return {
    encrypt: (text, field) => seal(first, text, field),
    decrypt: (sealed, field) => open(ring, sealed, field),
    isCurrent: (sealed) => sealed.startsWith(`${first.id}.`),
  };
}

/** 96 bits of the IV and 128 bits of the tag are 16 and 22 characters. */
const SEALED = /^[\w-]+\.[\w-]{16}\.[\w-]*\.[\w-]{22}$/;

/** Returns whether a text has the form of an encrypted one, under any key. */
export function isEncrypted(text: string): boolean {
  return SEALED.test(text);
}

/** As JSON, so that no two fields have the same bytes. */
function boundTo({ kind, id, path }: SecretField): Buffer {
  return Buffer.from(JSON.stringify([kind, id, ...path]));
}

function seal(key: Key, text: string, field: SecretField): Encrypted {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key.bytes, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(field));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return [
    key.id,
    ...[iv, ciphertext, cipher.getAuthTag()].map((part) => part.toString('base64url')),
  ].join('.');
}

function open(ring: readonly Key[], sealed: Encrypted, field: SecretField): Opened {
  const owner = field.id;
  const [id, ...parts] = sealed.split('.');
  const [iv, ciphertext, tag] = parts.map((part) => Buffer.from(part, 'base64url'));
  // GCM would accept a truncated tag, which is easier to guess.
  if (
    !iv ||
    !ciphertext ||
    !tag ||
    parts.length !== 3 ||
    iv.length !== IV_BYTES ||
    tag.length !== TAG_BYTES
  ) {
    return { why: `A sealed text of ${owner} is malformed` };
  }
  const candidates = ring.filter((key) => key.id === id);
  if (candidates.length === 0) {
    return {
      why:
        `A sealed text of ${owner} was written with a key that WAYPOST_SECRET_KEY does not ` +
        'contain. Add the previous key to the end of the list',
    };
  }
  for (const key of candidates) {
    const text = decrypt(key, { iv, ciphertext, tag }, field);
    if (text !== undefined) return { text };
  }
  return { why: `A sealed text of ${owner} is damaged, or belongs to another field or entry` };
}

/** @returns undefined if the text was not encrypted with this key for this field */
function decrypt(
  key: Key,
  parts: { iv: Buffer; ciphertext: Buffer; tag: Buffer },
  field: SecretField,
): string | undefined {
  const decipher = createDecipheriv(ALGORITHM, key.bytes, parts.iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(field));
  decipher.setAuthTag(parts.tag);
  const start = decipher.update(parts.ciphertext);
  try {
    return Buffer.concat([start, decipher.final()]).toString('utf8');
  } catch {
    // `final` throws only if the tag does not match. The caller reports it, since it knows all
    // keys.
    return undefined;
  }
}

/** Identifies a key without revealing it: 48 bits of a hash of 256 random bits. */
export function keyId(key: Buffer): string {
  return createHash('sha256')
    .update('waypost key id\0')
    .update(key)
    .digest('base64url')
    .slice(0, 8);
}

const PREFIX = 'sha256:';

/**
 * Returns the hash by which an encrypted write key is looked up. Keys are 128 random bits, so a
 * plain SHA-256 cannot be reversed by guessing.
 */
export function writeKeyHash(key: string): string {
  return PREFIX + hash('sha256', key, 'base64url');
}

/**
 * Returns the encrypted form of a write key: its hash for ingest, which looks keys up, and the
 * encrypted key for control, which shows it.
 * @param sourceId the entry that the key belongs to
 */
export function encryptWriteKey(key: string, sourceId: string, encryptor: Encryptor): WriteKey {
  return { key: writeKeyHash(key), sealed: encryptor.encrypt(key, writeKeyField(sourceId)) };
}

/** @returns undefined if no key of the encryptor decrypts it */
export function decryptWriteKey(
  { sealed }: WriteKey,
  sourceId: string,
  encryptor: Encryptor,
): string | undefined {
  return encryptor.decrypt(sealed, writeKeyField(sourceId)).text;
}

/**
 * Stored encrypted beside the other entries, so that a process can check whether it has the key of
 * `config`.
 */
const CANARY = 'waypost canary';
const CANARY_FIELD: SecretField = { kind: 'system', id: SYSTEM_ID, path: ['canary'] };

export function newSystemEntry(encryptor: Encryptor): SystemEntry {
  return { id: SYSTEM_ID, canary: encryptor.encrypt(CANARY, CANARY_FIELD) };
}

/**
 * Returns why WAYPOST_SECRET_KEY of this process does not fit `config`, as one sentence for people;
 * undefined if it fits, or nothing is encrypted yet.
 */
export function keyProblem(
  config: Pick<ConfigView, 'system' | 'isUnreadable'>,
  encryptor: Encryptor,
): string | undefined {
  const system = config.system()?.data;
  // Without a fitting key the record of the canary is unreadable (authentication.ts).
  const fits = system
    ? encryptor.decrypt(system.canary, CANARY_FIELD).text === CANARY
    : !config.isUnreadable('system', SYSTEM_ID);
  return fits ? undefined : KEY_DIFFERS;
}

export const KEY_DIFFERS =
  'WAYPOST_SECRET_KEY differs from the key that sealed config. Give control and delivery ' +
  'the same list of keys; if that ' +
  'key is lost, run `config reseal --key-lost`, and set URLs, headers and secrets again';

/**
 * Logs at start, and when the canary changes, that the key does not fit.
 * @returns the reasons for `/readyz`: a process with another key must not replace a process with
 *   the right key
 */
export function watchKey(config: ConfigReader, encryptor: Encryptor, log: Log): () => string[] {
  let reasons: string[] = [];
  const recheck = () => {
    const reason = keyProblem(config, encryptor);
    if (reason !== undefined && reasons.length === 0) log.error({ reason }, 'secret_key.differs');
    reasons = reason === undefined ? [] : [reason];
    return reasons;
  };
  recheck();
  config.onChange(({ kind }) => {
    if (kind === 'system') recheck();
  });
  return recheck;
}
