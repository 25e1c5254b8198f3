import { hash } from 'node:crypto';
import { type WriteKey } from '../model/config';
import { type Encryptor } from './encryption';

/**
 * The two forms of a write key in `config`. Encrypted: its hash for ingest, which looks keys up, and the encrypted key
 * for control, which shows it. Plain: the form of earlier versions, whose ingest knows no other.
 *
 * Keys are 128 random bits, so a plain SHA-256 cannot be reversed by guessing.
 */

const PREFIX = 'sha256:';

/** Returns the hash by which an encrypted key is looked up. */
export function writeKeyHash(key: string): string {
  return PREFIX + hash('sha256', key, 'base64url');
}

/** @param sourceId the entry that the key belongs to */
export function encryptWriteKey(key: string, sourceId: string, encryptor: Encryptor): WriteKey {
  return { key: writeKeyHash(key), sealed: encryptor.encrypt(key, sourceId) };
}

/** @returns undefined if no key of the encryptor decrypts it */
export function decryptWriteKey({ key, sealed }: WriteKey, sourceId: string, encryptor: Encryptor): string | undefined {
  return sealed === undefined ? key : encryptor.decrypt(sealed, sourceId).text;
}
