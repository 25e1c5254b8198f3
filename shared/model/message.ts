import { ExactNumber } from '../json/json';
import { type EventWarning } from './client-time';
import { FORMAT_HEADER } from './record-format';

/** A call as accepted: the value of a record on `messages`. */

/** The types that clients send. Only control creates a `delete`. */
export const CALL_TYPES = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const;
export type CallType = (typeof CALL_TYPES)[number];
const IS_CALL_TYPE: ReadonlySet<unknown> = new Set(CALL_TYPES);
export const MESSAGE_TYPES = [...CALL_TYPES, 'delete'] as const;
export type MessageType = (typeof MESSAGE_TYPES)[number];

export function isCallType(type: unknown): type is CallType {
  return IS_CALL_TYPE.has(type);
}

/** Ids are keys of records, of profiles and of database indexes, which take 2,700 bytes at most. */
export const MAX_ID_BYTES = 512;

export type Json =
  null | boolean | number | string | ExactNumber | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** Returns whether the value is a JSON object: not an array, not null, not an exact number. */
export function isJsonObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof ExactNumber)
  );
}

/**
 * Times are ISO 8601 UTC with milliseconds. Missing values are absent, never null. Other keys that
 * a client sent are kept unchanged (a replay or an audience may use them); the router names the
 * keys that it delivers.
 */
export interface Message {
  type: MessageType;
  messageId: string;
  /** the time of the call by the server's clock */
  timestamp: string;
  receivedAt: string;
  originalTimestamp?: string;
  sentAt?: string;
  userId?: string;
  anonymousId?: string;
  previousId?: string;
  groupId?: string;
  event?: string;
  name?: string;
  category?: string;
  properties?: JsonObject;
  traits?: JsonObject;
  context?: JsonObject;
  integrations?: JsonObject;
}

/** Headers of a record on `messages`. */
interface MessageHeaders {
  /** format version of the record */
  format: string;
  source: string;
  message: string;
  /** ms since 1970; the retry window starts here */
  'accepted-at': string;
  traceparent: string;
  /** the position of `config` that its writer knew: whoever decides on it must know as much */
  config?: string;
  /** the name of a track call, unless it is long */
  event?: string;
  /** says where the delivered body ends in the value (`cut-body.ts`) */
  body?: string;
  /** what ingest could not read, and replaced: names of `EVENT_WARNINGS`, with commas */
  warnings?: string;
}

/** A header of each delivery and a column of the history. Few names are longer. */
const MAX_EVENT_CHARACTERS = 200;

export function isLongName(name: string): boolean {
  return name.length > MAX_EVENT_CHARACTERS;
}

/** Returns a name as deliveries carry it: a long one is cut. */
export function cutEventName(name: string): string {
  if (!isLongName(name)) return name;
  return `${name.slice(0, MAX_EVENT_CHARACTERS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/**
 * Returns the name of a track call, page or screen, as deliveries carry it; undefined if it has
 * none.
 */
export function eventNameOf({
  type,
  event,
  name,
}: Pick<Message, 'type' | 'event' | 'name'>): string | undefined {
  const given: unknown =
    type === 'track' ? event : type === 'page' || type === 'screen' ? name : undefined;
  return typeof given === 'string' && given !== '' ? cutEventName(given) : undefined;
}

/** What the headers of a message say beside the message. */
interface AcceptedAs {
  /** the retry window starts here */
  acceptedAtMs: number;
  traceparent: string;
  configPosition?: number;
  body?: string | undefined;
  warnings?: readonly EventWarning[];
}

export function messageHeaders(
  source: string,
  { messageId, type, event }: Pick<Message, 'messageId' | 'type' | 'event'>,
  { acceptedAtMs, traceparent, configPosition, body, warnings = [] }: AcceptedAs,
): Record<string, string> {
  const headers: MessageHeaders = {
    format: FORMAT_HEADER,
    source,
    message: messageId,
    'accepted-at': String(acceptedAtMs),
    traceparent,
  };
  if (configPosition !== undefined) headers.config = String(configPosition);
  if (type === 'track' && event !== undefined && !isLongName(event)) headers.event = event;
  if (body !== undefined) headers.body = body;
  if (warnings.length > 0) headers.warnings = warnings.join(',');
  return { ...headers };
}

/**
 * Returns the key on `messages`. It puts a user's messages of one source, and copies of one call,
 * into one partition.
 */
export function messageKey(
  sourceId: string,
  message: Pick<Message, 'userId' | 'anonymousId' | 'messageId'>,
): string {
  return `${sourceId}:${message.userId ?? message.anonymousId ?? message.messageId}`;
}
