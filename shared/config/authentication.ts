import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type InRecord } from '../kafka/port';
import { type Encrypted } from '../model/config';
import { keyId } from './encryption';

/**
 * Authenticates the records of `config`: control signs each with every key of WAYPOST_SECRET_KEY,
 * and a process that has one of them believes no other record. So who may write the topic can
 * neither give a token rights nor change where a destination sends. Services without a key (ingest,
 * router, audiences) believe each record, so ACLs of Kafka stay necessary for them.
 *
 * An HMAC covers the exact bytes of a record, with its version, and the note of its author. Since
 * every key signs, a process that has the old key alone verifies what a process with the new and
 * the old key wrote: during a rotation all processes know the same entries.
 */

/** `keyId.mac` for each key of the writer, base64url, separated by commas. */
const HEADER = 'authentication';
/** Author and reason of a change, for the audit trail. Readers of `config` ignore it. */
export const NOTE_HEADER = 'note';
const LABEL = 'waypost authentication of config';
type Signed = Pick<InRecord, 'key' | 'value' | 'headers'>;

export interface Authenticator {
  /** Returns the headers of a record, with its authentication by every key. */
  sign(value: string, headers: Record<string, string>): Record<string, string>;
  /**
   * Returns why a record must not be believed, for the log and without any secret; undefined if
   * control wrote it.
   */
  distrust(record: Signed): string | undefined;
  /** Returns whether the first key authenticates the record. */
  isCurrent(record: Signed): boolean;
  /** Returns whether one of the keys encrypted the text, judged by the key's name. */
  hasKeyOf(sealed: Encrypted): boolean;
}

/** @param keys of WAYPOST_SECRET_KEY: all sign, and one suffices to verify */
export function createAuthenticator(keys: readonly Buffer[]): Authenticator {
  const ring = keys.map((bytes) => ({
    id: keyId(bytes),
    bytes: Buffer.from(hkdfSync('sha256', bytes, '', LABEL, 32)),
  }));
  const authenticationBy = (
    { id, bytes }: (typeof ring)[number],
    value: string | Buffer,
    note = '',
  ): string => {
    const mac = createHmac('sha256', bytes)
      // The length separates the note from the value.
      .update(`${Buffer.byteLength(note)}:${note}`)
      .update(value)
      .digest('base64url');
    return `${id}.${mac}`;
  };
  const isBy = (key: (typeof ring)[number], { value, headers }: Signed): boolean => {
    if (value === null) return false;
    const expected = Buffer.from(authenticationBy(key, value, headers[NOTE_HEADER]));
    const given = headers[HEADER]?.split(',') ?? [];
    return given.some((each) => isSame(Buffer.from(each), expected));
  };
  return {
    sign: (value, headers) => {
      if (ring.length === 0) throw new Error('WAYPOST_SECRET_KEY holds no key');
      const all = ring.map((key) => authenticationBy(key, value, headers[NOTE_HEADER]));
      return { ...headers, [HEADER]: all.join(',') };
    },
    distrust: (record) => {
      // A tombstone counts only for an entry that is deleted already.
      if (record.value === null || ring.some((key) => isBy(key, record))) return undefined;
      return record.headers[HEADER] === undefined
        ? 'it has no authentication of control'
        : 'no key of WAYPOST_SECRET_KEY authenticates it';
    },
    isCurrent: (record) => ring[0] !== undefined && isBy(ring[0], record),
    hasKeyOf: (sealed) => ring.some(({ id }) => sealed.startsWith(`${id}.`)),
  };
}

/**
 * Believes every record: for a system whose key is lost, by the explicit wish of an administrator.
 */
export function believeAll(authenticator: Authenticator): Authenticator {
  return { ...authenticator, distrust: () => undefined };
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
