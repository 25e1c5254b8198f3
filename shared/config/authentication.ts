import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { SYSTEM_ID, configKey } from '../model/config';
import { type InRecord } from '../kafka/port';
import { keyId } from './encryption';

/**
 * Authenticates the records of `config`: control signs each by WAYPOST_SECRET_KEY, and who has the
 * key believes no other. So who may write the topic can neither give a token rights nor change where
 * a destination sends. Services without the key (ingest, router, audiences) believe each record, so
 * ACLs of Kafka stay necessary for them.
 *
 * An HMAC covers the exact bytes of a record, with its version, and the note of its author. The
 * record that bears the canary (encryption.ts) needs none: the canary proves the key by itself, and
 * a process with another key must find it.
 */

/** `keyId.mac`, base64url. */
const HEADER = 'authentication';
/** Author and reason of a change, for the audit trail. Readers of `config` ignore it. */
export const NOTE_HEADER = 'note';
const LABEL = 'waypost authentication of config';
const CANARY = configKey('system', SYSTEM_ID);

/** A record without a valid authentication. */
export interface Distrust {
  /** for the log, without any secret */
  reason: string;
  /**
   * The record names a key that this process does not have. Another control process may have
   * written it, which has the key already, so nobody may undo it.
   */
  isOfOtherKey: boolean;
}

type Signed = Pick<InRecord, 'key' | 'value' | 'headers'>;

export interface Authenticator {
  /** Returns the headers of a record, with its authentication by the first key. */
  sign(value: string, headers: Record<string, string>): Record<string, string>;
  /** Returns why a record must not be believed; undefined if control wrote it. */
  distrust(record: Signed): Distrust | undefined;
  /** Returns whether the record names the first key. */
  isCurrent(record: Pick<Signed, 'headers'>): boolean;
}

/** @param keys of WAYPOST_SECRET_KEY: the first signs, all verify */
export function createAuthenticator(keys: readonly Buffer[]): Authenticator {
  const ring = keys.map((bytes) => ({
    id: keyId(bytes),
    bytes: Buffer.from(hkdfSync('sha256', bytes, '', LABEL, 32)),
  }));
  const macOf = (key: Buffer, value: string | Buffer, note = ''): Buffer =>
    // The length separates the note from the value.
    createHmac('sha256', key)
      .update(`${Buffer.byteLength(note)}:${note}`)
      .update(value)
      .digest();
  return {
    sign: (value, headers) => {
      const [first] = ring;
      if (!first) throw new Error('WAYPOST_SECRET_KEY holds no key');
      const mac = macOf(first.bytes, value, headers[NOTE_HEADER]).toString('base64url');
      return { ...headers, [HEADER]: `${first.id}.${mac}` };
    },
    distrust: ({ key, value, headers }) => {
      // A tombstone counts only for an entry that is deleted already.
      if (value === null || key?.toString() === CANARY) return undefined;
      const given = headers[HEADER];
      if (given === undefined) return refused('it has no authentication of control');
      const [id, mac = ''] = given.split('.');
      const candidates = ring.filter((each) => each.id === id);
      if (candidates.length === 0) {
        return {
          reason: 'it was authenticated with a key that WAYPOST_SECRET_KEY does not contain',
          isOfOtherKey: true,
        };
      }
      const bytes = Buffer.from(mac, 'base64url');
      return candidates.some((each) =>
        isSame(bytes, macOf(each.bytes, value, headers[NOTE_HEADER])),
      )
        ? undefined
        : refused('its authentication is wrong');
    },
    isCurrent: ({ headers }) => headers[HEADER]?.startsWith(`${ring[0]?.id ?? ''}.`) === true,
  };
}

/**
 * Believes every record: for a system whose key is lost, by the explicit wish of an administrator.
 */
export function believeAll(authenticator: Authenticator): Authenticator {
  return { ...authenticator, distrust: () => undefined };
}

function refused(reason: string): Distrust {
  return { reason, isOfOtherKey: false };
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
