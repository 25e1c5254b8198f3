import { hash } from 'node:crypto';
import { MAX_ID_BYTES } from '../../../shared/model/normalize';

/**
 * How the history stores the id of a user: pure.
 *
 * Ingest takes ids of at most 512 bytes. Records from before that limit may hold ids of any length, and an index row of
 * PostgreSQL ends at 2,704 bytes. So a longer id is stored as its first 100 characters, `…`, and its SHA-256.
 */

const SHOWN_CHARACTERS = 100;

/** The id as it is stored. A text of PostgreSQL holds no U+0000: U+FFFD takes its place. */
export function storedId(id: string): string {
  const text = id.includes('\0') ? id.replaceAll('\0', '\ufffd') : id;
  // A character of UTF-16 has at most three bytes: most ids need no count.
  if (text.length * 3 <= MAX_ID_BYTES || Buffer.byteLength(text) <= MAX_ID_BYTES) return text;
  return `${Array.from(text.slice(0, 2 * SHOWN_CHARACTERS))
    .slice(0, SHOWN_CHARACTERS)
    .join('')}…${hash('sha256', text)}`;
}

/** The ids that a user's rows may have: older versions stored ids of up to about 2,700 bytes whole. */
export function storedIds(id: string): string[] {
  const stored = storedId(id);
  const whole = id.replaceAll('\0', '\ufffd');
  return stored === whole ? [stored] : [stored, whole];
}

/** The statement that shortens the ids that an older version stored in a partition, before it is indexed. */
export function shortenIds(part: string): string {
  return `update waypost.${part}
    set user_id = left(user_id, ${SHOWN_CHARACTERS}) || '…' || encode(sha256(convert_to(user_id, 'UTF8')), 'hex')
    where octet_length(user_id) > ${MAX_ID_BYTES}`;
}
