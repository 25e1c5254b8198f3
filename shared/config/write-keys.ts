import { hash } from 'node:crypto';
import { type WriteKey } from '../model/config';
import { type Sealer } from './seal';

/**
 * The two forms of a write key in `config`. Sealed: its hash for ingest, which looks keys up, and the key encrypted for control,
 * which shows it. Plain: as earlier versions wrote it, whose ingest knows no other form.
 *
 * Keys are 128 random bits, so that a plain SHA-256 cannot be reversed by guessing.
 */

const PREFIX = 'sha256:';

/** The hash by which a sealed key is looked up. */
export function writeKeyHash(key: string): string {
  return PREFIX + hash('sha256', key, 'base64url');
}

/** @param sourceId the entry that the key belongs to */
export function sealWriteKey(key: string, sourceId: string, sealer: Sealer): WriteKey {
  return { key: writeKeyHash(key), sealed: sealer.seal(key, sourceId) };
}

/** @returns undefined where no key of the ring opens it */
export function openWriteKey({ key, sealed }: WriteKey, sourceId: string, sealer: Sealer): string | undefined {
  return sealed === undefined ? key : sealer.open(sealed, sourceId).text;
}
