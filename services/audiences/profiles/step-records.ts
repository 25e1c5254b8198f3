import { hash } from 'node:crypto';
import { type Message, messageHeaders, messageKey } from '../../../shared/model/message';
import { type OutRecord } from '../../../shared/kafka/port';
import { MESSAGES, PROFILE_EVENTS, PROFILES } from '../../../shared/kafka/topics';
import { type Definition } from '../definitions/compile';
import { type Step, type ValueChange } from './change-set';
import { encodeEvent } from '../repartition/event';
import { type PartitionState } from './partition-state';
import { decodeToCopy, encodeProfile, type Profile } from './profile';

/** Encodes a step as records: pure. */

const FORMAT = '1';
const USER = 'u';
const META = 'm';

/** Returns the records that move to other profiles. */
export function moveRecords({ moves }: Step): OutRecord[] {
  return moves.map(({ user, event, origin }) => ({ topic: PROFILE_EVENTS, key: user, ...encodeEvent(event, origin) }));
}

/** Returns the changed profiles, and the state last. If the state is missing, the step is repeated. */
export function changelogRecords({ profiles, meta }: Step, partition: number): OutRecord[] {
  const changed = Array.from(profiles, ([user, profile]) => changelogRecord(USER + user, profile, partition));
  return [...changed, metaRecord(meta, partition)];
}

function metaRecord(meta: PartitionState, partition: number): OutRecord {
  return { ...changelogRecord(META, null, partition), value: JSON.stringify(meta) };
}

function changelogRecord(key: string, profile: Profile | null, partition: number): OutRecord {
  return { topic: PROFILES, key, value: profile && encodeProfile(profile), partition, headers: { format: FORMAT } };
}

/** A record of the changelog as read. */
export type Change =
  { kind: 'meta'; meta: PartitionState } | { kind: 'profile'; user: string; profile: Profile | null };

export function readChange(key: Buffer | null, value: Buffer | null): Change | undefined {
  const name = key?.toString() ?? '';
  if (name === META) return value ? { kind: 'meta', meta: JSON.parse(value.toString()) as PartitionState } : undefined;
  if (!name.startsWith(USER)) return undefined;
  return { kind: 'profile', user: name.slice(USER.length), profile: value && decodeToCopy(value) };
}

/**
 * Returns the message of a changed value, from the definition's own source. Its id is derived from its content, so that
 * the router recognises a message that is sent again after a crash as a duplicate.
 */
export function identifyRecord(
  { user, value, atMs }: Pick<ValueChange, 'user' | 'value' | 'atMs'>,
  { kind, id, name, key, source }: Definition,
  made: { nowMs: number; traceparent: string },
): OutRecord {
  const at = new Date(atMs).toISOString();
  const message: Message = {
    type: 'identify',
    messageId: `${id}-${hash('sha256', `${id}\0${user}\0${at}`).slice(0, 24)}`,
    timestamp: at,
    receivedAt: at,
    userId: user,
    traits: { [key]: value },
    context: { [kind === 'audience' ? 'audience' : 'computedTrait']: { id, name } },
  };
  const times = { acceptedAtMs: made.nowMs, traceparent: made.traceparent };
  const headers = messageHeaders(source, message.messageId, times);
  return { topic: MESSAGES, key: messageKey(source, message), value: JSON.stringify(message), headers };
}
