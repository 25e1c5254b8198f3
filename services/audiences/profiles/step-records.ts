import { hash } from 'node:crypto';
import { type Message, messageHeaders, messageKey } from '../../../shared/model/message';
import { type OutRecord } from '../../../shared/kafka/port';
import { MESSAGES, PROFILE_EVENTS, PROFILES } from '../../../shared/kafka/topics';
import { type Definition } from '../definitions/compile';
import { type Step, type ValueChange } from './change-set';
import { encodeEvent } from '../repartition/event';
import { type PartitionState } from './partition-state';
import { decodeToCopy, encodeProfile, type Profile } from './profile';

/** The records that a step becomes: pure. */

const FORMAT = '1';
const USER = 'u';
const META = 'm';

/** What moves to other profiles. */
export function moveRecords({ moves }: Step): OutRecord[] {
  return moves.map(({ user, event, origin }) => ({ topic: PROFILE_EVENTS, key: user, ...encodeEvent(event, origin) }));
}

/** The profiles as they are now, and last how far this is: where that is missing, the step is made again. */
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
 * What a user is told, as a message of the definition's own source. Its id follows from what it says, so that one that is
 * sent again after a crash is a copy to the router.
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
