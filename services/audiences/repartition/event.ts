import { type JsonObject, type Message } from '../../../shared/model/message';
import { type ListedEvent, MAX_USER_BYTES, PROFILE_EVENT_FORMAT } from '../../../shared/model/profile-records';
import { type MessageRef, sightingOf } from '../../../shared/model/dedup-window';
import { type InRecord } from '../../../shared/kafka/port';
import { type Profile } from '../profiles/profile';

/**
 * The records of `profiles.events`: of a message what profiles need, under the user's id. Their headers name where each
 * comes from, by which a second writing of it is known (cursor.ts).
 */

export type ProfileEvent =
  | { kind: 'track'; source: string; event: string; properties: JsonObject; atMs: number }
  | { kind: 'identify'; source: string; traits: JsonObject; atMs: number }
  /** the profile moves to another user */
  | { kind: 'alias'; to: string }
  /** what another user's profile brings */
  | { kind: 'merge'; profile: Profile }
  /** all that is known of the user goes */
  | { kind: 'delete' }
  | ListedEvent;

/** Which writer a record is of, and its place in what that writer reads. */
export interface Origin {
  name: string;
  offset: number;
}

/** A record of `profiles.events` as read. */
export interface Incoming {
  offset: number;
  user: string;
  origin: Origin | undefined;
  /** the call that it comes of, and when it was appended; absent: of no call, or written by an older version */
  call?: { sighting: MessageRef; atMs: number };
  event: ProfileEvent;
}

/** @returns the event of a message and whose it is; undefined where it says nothing of a user with an id */
export function eventOf(message: Message, source: string): { user: string; event: ProfileEvent } | undefined {
  const { userId } = message;
  if (userId === undefined) return undefined;
  switch (message.type) {
    case 'track': {
      const { event, properties = {} } = message;
      if (event === undefined) return undefined;
      return { user: userId, event: { kind: 'track', source, event, properties, atMs: timeOf(message) } };
    }
    case 'identify': {
      const { traits = {} } = message;
      return { user: userId, event: { kind: 'identify', source, traits, atMs: timeOf(message) } };
    }
    case 'alias':
      if (message.previousId === undefined || message.previousId === userId) return undefined;
      return { user: message.previousId, event: { kind: 'alias', to: userId } };
    case 'delete':
      return { user: userId, event: { kind: 'delete' } };
    case 'page':
    case 'screen':
    case 'group':
      return undefined;
  }
}

/** Whether a profile is kept under this id: it is part of keys in the store, which are not empty and bounded. */
export function isUser(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && Buffer.byteLength(id) <= MAX_USER_BYTES;
}

/** The moment of the call; a clock that runs ahead must not count into windows to come. */
function timeOf({ timestamp, receivedAt }: Message): number {
  const [at, arrived] = [Date.parse(timestamp), Date.parse(receivedAt)];
  if (Number.isNaN(at)) return Number.isNaN(arrived) ? 0 : arrived;
  return Number.isNaN(arrived) ? at : Math.min(at, arrived);
}

/**
 * Value and headers of its record.
 * @param call the hash of the call that it comes of: a copy of the call has the same
 */
export function encodeEvent(
  event: ProfileEvent,
  origin?: Origin,
  call?: string,
): { value: string; headers: Record<string, string> } {
  const headers: Record<string, string> = { format: PROFILE_EVENT_FORMAT };
  if (origin) headers.origin = `${origin.name}:${origin.offset}`;
  if (call !== undefined) headers.call = call;
  return { value: JSON.stringify(event), headers };
}

/** @returns undefined where it cannot be used: of a newer version, or of an id that is too long for the store */
export function decodeEvent(record: InRecord): Incoming | undefined {
  if (record.headers.format !== PROFILE_EVENT_FORMAT || record.value === null || record.key === null) return undefined;
  // As `isUser`, of what is still bytes.
  if (record.key.length === 0 || record.key.length > MAX_USER_BYTES) return undefined;
  let event: { kind?: unknown; to?: unknown } | null;
  try {
    event = JSON.parse(record.value.toString()) as typeof event;
  } catch {
    return undefined;
  }
  if (!event || (event.kind === 'alias' && !isUser(event.to))) return undefined;
  const origin = /^(.+):(\d+)$/.exec(record.headers.origin ?? '');
  const call = callOf(record);
  return {
    offset: record.offset,
    user: record.key.toString(),
    origin: origin ? { name: origin[1] ?? '', offset: Number(origin[2]) } : undefined,
    ...(call && { call }),
    event: event as ProfileEvent,
  };
}

/** Reads the call that a record comes of. */
export function callOf({ headers, partition, offset, timestampMs }: InRecord): Incoming['call'] {
  const { call } = headers;
  if (call === undefined || !/^[0-9a-f]{16}$/.test(call)) return undefined;
  return { sighting: sightingOf(call, partition, offset), atMs: timestampMs };
}
