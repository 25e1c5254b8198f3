import { parseJson } from '../json/json';
import { type DedupWindow, messageRef } from './dedup-window';
import { isTime } from './delivery';
import { isJsonObject, type Json, type Message, MESSAGE_TYPES } from './message';
import { FORMAT_HEADER, newerFormatOf } from './record-format';

/** Reads the records of `messages`, for all that read the topic. */

/** The headers of a record of `messages`. */
export interface MessageHeaders {
  kind: 'message';
  sourceId: string;
  messageId: string;
  /** ms since 1970, by the clock of ingest */
  acceptedAt: number;
  /** ms since 1970, by the broker's clock; absent if the reader does not need it */
  appendedAt?: number;
  traceparent: string;
  /** the position of `config` that its writer knew; absent if that does not matter */
  configPosition?: number;
  /** the headers by which the body can be cut off (`cut-body.ts`) */
  body?: string;
  event?: string;
}

/** This record is permanently unreadable, and is set aside. */
export interface Rejected {
  kind: 'rejected';
  reason: string;
}

export type HeadersDecision = MessageHeaders | Rejected | { kind: 'newer'; format: string };

type RawHeaders = Readonly<Record<string, string | undefined>>;

/** Reads the headers, which suffice to recognise a duplicate. */
export function readMessageHeaders(headers: RawHeaders): HeadersDecision {
  const newer = newerFormatOf(headers);
  if (newer !== undefined) return { kind: 'newer', format: newer };
  const { format = '' } = headers;
  if (format !== FORMAT_HEADER) return rejected(`its header format is "${format.slice(0, 20)}"`);
  const sourceId = headers.source;
  const messageId = headers.message;
  if (!sourceId || !messageId) return rejected('its header source or message is missing');
  const acceptedAt = Number(headers['accepted-at']);
  if (!isTime(acceptedAt)) return rejected('its header accepted-at is not a time');
  const head: MessageHeaders = {
    kind: 'message',
    sourceId,
    messageId,
    acceptedAt,
    traceparent: headers.traceparent ?? '',
  };
  if (headers.config !== undefined) head.configPosition = Number(headers.config);
  if (headers.body !== undefined) head.body = headers.body;
  if (headers.event !== undefined) head.event = headers.event;
  return head;
}

/** A record of `messages` as far as a deduplication window needs it. */
interface MessageRecord {
  headers: RawHeaders;
  partition: number;
  offset: number;
  timestampMs: number;
}

/** Adds a message to the deduplication window. Unreadable records are skipped. */
export function rememberMessage(seen: Pick<DedupWindow, 'remember'>, record: MessageRecord): void {
  const head = readMessageHeaders(record.headers);
  if (head.kind !== 'message') return;
  seen.remember(
    messageRef(head.sourceId, head.messageId, record.partition, record.offset),
    record.timestampMs,
  );
}

/**
 * @returns the message, or the reason why it is invalid. Only the fields used here are validated;
 * ingest validated the rest.
 */
export function parseMessage(value: Buffer | null): Message | string {
  if (value === null) return 'it has no value';
  let parsed: Json;
  try {
    parsed = parseJson(value.toString()) as Json;
  } catch {
    return 'its value is not JSON';
  }
  if (!isJsonObject(parsed)) return 'its value is not an object';
  const message = parsed as Partial<Record<keyof Message, unknown>>;
  if (!(MESSAGE_TYPES as readonly unknown[]).includes(message.type)) return 'its type is not known';
  for (const name of ['messageId', 'timestamp'] as const) {
    if (typeof message[name] !== 'string') return `its ${name} is not a text`;
  }
  for (const name of ['userId', 'anonymousId'] as const) {
    if (message[name] !== undefined && typeof message[name] !== 'string') {
      return `its ${name} is not a text`;
    }
  }
  return parsed as Partial<Message> as Message;
}

function rejected(reason: string): Rejected {
  return { kind: 'rejected', reason };
}
