import { hash } from 'node:crypto';
import { MAX_ID_BYTES } from '../../../shared/model/message';

/**
 * Converts a user id to its stored form, and checks other ids. Pure.
 *
 * Ingest accepts ids of at most 512 bytes, and an index row of PostgreSQL holds at most 2,704
 * bytes. So a longer id, which only a bad record has, is stored as its first 100 characters, `…`,
 * and its SHA-256.
 */

const SHOWN_CHARACTERS = 100;

/** Returns the stored text. A text of PostgreSQL cannot contain U+0000, so U+FFFD replaces it. */
export function storedText(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
}

export function storedId(id: string): string {
  const text = storedText(id);
  // A UTF-16 code unit takes at most three bytes, so most ids need no byte count.
  if (text.length * 3 <= MAX_ID_BYTES || Buffer.byteLength(text) <= MAX_ID_BYTES) return text;
  return `${Array.from(text.slice(0, 2 * SHOWN_CHARACTERS))
    .slice(0, SHOWN_CHARACTERS)
    .join('')}…${hash('sha256', text)}`;
}

const MAX_ID_CHARACTERS = 256;

/**
 * Ids that Waypost generates are far shorter. Ids are indexed, and the size of an index row is
 * limited.
 */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_CHARACTERS;
}
