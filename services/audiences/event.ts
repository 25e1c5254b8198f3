import { type Json, type JsonObject, type Message } from '../../shared/domain/message';
import { type ListedEvent, PROFILE_EVENT_FORMAT } from '../../shared/domain/profiles';
import { type InRecord } from '../../shared/kafka/port';
import { type Profile } from './profile';

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

/** The moment of the call; a clock that runs ahead must not count into windows to come. */
function timeOf({ timestamp, receivedAt }: Message): number {
  const [at, arrived] = [Date.parse(timestamp), Date.parse(receivedAt)];
  if (Number.isNaN(at)) return Number.isNaN(arrived) ? 0 : arrived;
  return Number.isNaN(arrived) ? at : Math.min(at, arrived);
}

/** Value and headers of its record. */
export function encodeEvent(event: ProfileEvent, origin?: Origin): { value: string; headers: Record<string, string> } {
  const headers: Record<string, string> = { format: PROFILE_EVENT_FORMAT };
  if (origin) headers.origin = `${origin.name}:${origin.offset}`;
  return { value: JSON.stringify(event), headers };
}

/** @returns undefined where it cannot be read: written by Waypost alone, it is one of a newer version */
export function decodeEvent(record: InRecord): Incoming | undefined {
  if (record.headers.format !== PROFILE_EVENT_FORMAT || record.value === null || record.key === null) return undefined;
  let event: Json;
  try {
    event = JSON.parse(record.value.toString()) as Json;
  } catch {
    return undefined;
  }
  const origin = /^(.+):(\d+)$/.exec(record.headers.origin ?? '');
  return {
    offset: record.offset,
    user: record.key.toString(),
    origin: origin ? { name: origin[1] ?? '', offset: Number(origin[2]) } : undefined,
    event: event as unknown as ProfileEvent,
  };
}
