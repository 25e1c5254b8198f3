import { defined } from '../../../shared/collections/defined';
import { parseJson, stringifyJson } from '../../../shared/json/json';
import { type JsonObject, type Message } from '../../../shared/model/message';
import {
  ACCEPTED_AT_HEADER,
  type ListedEvent,
  MAX_USER_BYTES,
  type UploadedEvent,
  type UserDeletedEvent,
} from '../../../shared/model/profile-records';
import { isUser } from '../../../shared/model/profile-user';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { type MessageRef, refFromHash } from '../../../shared/model/dedup-window';
import { type InRecord, type Kafka } from '../../../shared/kafka/port';
import {
  isBehind,
  type Mark,
  markAt,
  nameOf,
  type RecordName,
} from '../../../shared/kafka/record-name';
import { scan } from '../../../shared/kafka/scan';
import { PROFILE_EVENTS } from '../../../shared/kafka/topics';
import { requireKnownFormat } from '../../../shared/runtime/errors';
import { type Profile } from '../profiles/profile';
import { profileOf, storedProfile, type StoredProfile } from '../profiles/profile-codec';

/**
 * The records of `profiles.events`: the data of a message that profiles need, keyed by user. Their
 * headers name their origin, by which a reader recognises a repetition (`admit`).
 */

export type ProfileEvent =
  | { kind: 'track'; source: string; event: string; properties: JsonObject; atMs: number }
  | { kind: 'identify'; source: string; traits: JsonObject; atMs: number }
  /** moves the profile to another user */
  | { kind: 'alias'; to: string }
  /** brings another user's profile */
  | { kind: 'merge'; profile: Profile }
  | UserDeletedEvent
  | ListedEvent
  | UploadedEvent;

/** The writer of a record, and the record of the log that this writer read. */
export interface Origin extends RecordName {
  name: string;
}

/** Header of a message that this service wrote: the definition whose value it tells. */
export const DEFINITION_HEADER = 'definition';

/** A record of `profiles.events` as read. */
export interface Incoming extends RecordName {
  user: string;
  origin: Origin | undefined;
  /** its call, and when it was appended; absent: not from a call */
  call?: { ref: MessageRef; atMs: number };
  /** when ingest accepted its call, ms since 1970; absent: not from a call */
  acceptedAt?: number;
  event: ProfileEvent;
}

/**
 * @returns the event of a message and its user; undefined if it does not concern a user with an id
 */
export function eventOf(
  message: Message,
  source: string,
): { user: string; event: ProfileEvent } | undefined {
  const { userId } = message;
  if (userId === undefined) return undefined;
  switch (message.type) {
    case 'track': {
      const { event, properties = {} } = message;
      if (event === undefined) return undefined;
      return {
        user: userId,
        event: { kind: 'track', source, event, properties, atMs: timeOf(message) },
      };
    }
    case 'identify': {
      const { traits = {} } = message;
      return { user: userId, event: { kind: 'identify', source, traits, atMs: timeOf(message) } };
    }
    case 'alias':
      if (message.previousId === undefined || message.previousId === userId) return undefined;
      return { user: message.previousId, event: { kind: 'alias', to: userId } };
    // Control writes it to `profiles.events` itself.
    case 'delete':
    case 'page':
    case 'screen':
    case 'group':
      return undefined;
  }
}

/**
 * Returns the time of the call, ms since 1970. A clock that runs ahead must not count into future
 * windows.
 */
function timeOf({ timestamp, receivedAt }: Message): number {
  const [at, arrived] = [Date.parse(timestamp), Date.parse(receivedAt)];
  if (Number.isNaN(at)) return Number.isNaN(arrived) ? 0 : arrived;
  return Number.isNaN(arrived) ? at : Math.min(at, arrived);
}

/** Where an event comes from. */
interface EventSource {
  origin?: Origin | undefined;
  /** the hash of its call, which a copy of the call shares */
  call?: string;
  /** when ingest accepted its call, ms since 1970 */
  acceptedAt?: number | undefined;
}

/** Encodes the value and headers of an event's record. */
export function encodeEvent(
  event: ProfileEvent,
  { origin, call, acceptedAt }: EventSource = {},
): { value: string; headers: Record<string, string> } {
  const headers: Record<string, string> = { format: FORMAT_HEADER };
  if (origin) headers.origin = encodeOrigin(origin);
  if (call !== undefined) headers.call = call;
  if (acceptedAt !== undefined) headers[ACCEPTED_AT_HEADER] = String(acceptedAt);
  const stored =
    event.kind === 'merge' ? { ...event, profile: storedProfile(event.profile) } : event;
  return { value: stringifyJson(stored), headers };
}

function encodeOrigin({ name, offset, epoch, timestamp }: Origin): string {
  return [name, offset, epoch, timestamp].join(':');
}

function decodeOrigin(text: string): Origin | undefined {
  const [, name, offset, epoch, timestamp] = /^(.+):(\d+):(-?\d+):(-?\d+)$/.exec(text) ?? [];
  if (name === undefined) return undefined;
  return { name, offset: Number(offset), epoch: Number(epoch), timestamp: Number(timestamp) };
}

/**
 * @returns undefined if it cannot be used, for example with an id that is too long for the store
 * @throws AppError `newer_format`: the process must end, and leave the record to a newer one
 */
export function decodeEvent(record: InRecord): Incoming | undefined {
  requireKnownFormat(record, 'this audiences process');
  if (record.headers.format !== FORMAT_HEADER || record.value === null || record.key === null) {
    return undefined;
  }
  // The check of `isUser`, on the bytes.
  if (record.key.length === 0 || record.key.length > MAX_USER_BYTES) return undefined;
  let event: { kind?: unknown; to?: unknown; profile?: unknown } | null;
  try {
    event = parseJson(record.value.toString()) as typeof event;
    if (event?.kind === 'merge') event.profile = profileOf(event.profile as StoredProfile);
  } catch {
    return undefined;
  }
  if (!event || (event.kind === 'alias' && !isUser(event.to))) return undefined;
  const call = callOf(record);
  const acceptedAt = Number(record.headers[ACCEPTED_AT_HEADER]);
  return {
    ...nameOf(record),
    user: record.key.toString(),
    origin: decodeOrigin(record.headers.origin ?? ''),
    ...defined({ call, acceptedAt: acceptedAt > 0 ? acceptedAt : undefined }),
    event: event as ProfileEvent,
  };
}

/** Reads the call of a record from its headers. */
export function callOf({ headers, partition, offset, timestampMs }: InRecord): Incoming['call'] {
  const { call } = headers;
  if (call === undefined || !/^[0-9a-f]{16}$/.test(call)) return undefined;
  return { ref: refFromHash(call, partition, offset), atMs: timestampMs };
}

/** Bytes of one fetch of the event log. */
const FETCH_BYTES = 256 * 1024;

/** Reads one partition of `profiles.events` at any offset, independent of the consumer group. */
export class EventLog {
  constructor(
    private readonly kafka: Pick<Kafka, 'read' | 'ranges'>,
    private readonly partition: number,
  ) {}

  /**
   * Reads events from an offset (or the first retained one) up to an end; `done`: no more follow.
   * @param wanted selects users; records of other users are not even decoded, and there may be no
   *   event before `next`
   */
  async read(
    offset: number,
    end: number,
    wanted?: (user: string) => boolean,
  ): Promise<{ records: Incoming[]; next: number; done: boolean }> {
    const section = {
      topic: PROFILE_EVENTS,
      partition: this.partition,
      from: offset,
      to: end,
      maxBytes: FETCH_BYTES,
    };
    for await (const { records, next } of scan(this.kafka, section)) {
      const kept = wanted
        ? records.filter(({ key }) => key !== null && wanted(key.toString()))
        : records;
      const events = kept.flatMap((record) => decodeEvent(record) ?? []);
      // A reader that goes on behind the last event would read unusable records without end.
      if (events.length > 0 || (wanted && records.length > 0)) {
        return { records: events, next, done: false };
      }
    }
    return { records: [], next: end, done: true };
  }

  /** Returns whether the log ends at an offset. */
  async endsAt(offset: number): Promise<boolean> {
    const at = { topic: PROFILE_EVENTS, partition: this.partition, offset, maxBytes: 1 };
    const { end, gone } = await this.kafka.read(at);
    return !gone && end <= offset;
  }
}

/**
 * Tracks how far a partition of `profiles.events` has been read, so that each event counts once.
 *
 * After a crash, a writer repeats the records that it had not committed: the same origins at higher
 * offsets. The records of each origin keep their order, and a repetition begins at a place that was
 * written before. A record is therefore a repetition exactly if its origin has already been
 * reached. This holds for every reader that begins at a cursor, since the marks are part of it.
 * Marks name records: after `messages` was cut, or made again, what was appended since counts
 * (record-name.ts).
 */
export interface Cursor {
  /** the next offset to read */
  next: number;
  /** the last record that was read; absent: none */
  last?: Mark | undefined;
  /** the last record of each origin so far, by the origin's name */
  marks: Record<string, Mark>;
}

export const BEGINNING: Cursor = { next: 0, marks: {} };

/** Admits records in their order. @returns the cursor after them, and the records that count */
export function admit(
  cursor: Cursor,
  records: readonly Incoming[],
): { cursor: Cursor; admitted: Incoming[] } {
  const marks = { ...cursor.marks };
  let { next, last } = cursor;
  const admitted = records.filter((record) => {
    if (!isBehind(record, last)) return false;
    next = record.offset + 1;
    last = markAt(record, last);
    const { origin } = record;
    if (!origin) return true;
    if (!isBehind(origin, marks[origin.name])) return false;
    marks[origin.name] = markAt(origin, marks[origin.name]);
    return true;
  });
  return { cursor: { next, last, marks }, admitted };
}

/** Returns the origin of records from a partition of `messages`. */
export function messagesOrigin(partition: number): string {
  return `m${partition}`;
}

/**
 * Returns the origin of records that move between partitions of profiles. @param pass number of the
 * second reading
 */
export function profilesOrigin(partition: number, pass?: number): string {
  return pass === undefined ? `p${partition}` : `p${partition}.${pass}`;
}

/** Returns whether a second reading moved the record. */
export function isLate({ origin }: Incoming): boolean {
  return origin?.name.includes('.') ?? false;
}
