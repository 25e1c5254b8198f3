/** The types of calls, and their form on the wire. */

export type Properties = Readonly<Record<string, unknown>>;

/** The user: at least one of the two ids. */
type Someone =
  | { userId: string | number; anonymousId?: string | undefined }
  | { anonymousId: string; userId?: string | number | undefined };

interface Common {
  /** facts about the environment */
  context?: Properties | undefined;
  /** the destinations of the call, e.g. `{ All: false, Webhooks: true }` */
  integrations?: Readonly<Record<string, boolean | Properties>> | undefined;
  /** for an event in the past; otherwise the time of the call, by the server's clock */
  timestamp?: Date | string | undefined;
  /**
   * less than 100 characters; default: a random id. The server counts calls with the same id once
   */
  messageId?: string | undefined;
}

export type IdentifyCall = Common & Someone & { traits?: Properties | undefined };
export type TrackCall = Common & Someone & { event: string; properties?: Properties | undefined };
export type PageCall = Common &
  Someone & {
    name?: string | undefined;
    category?: string | undefined;
    properties?: Properties | undefined;
  };
export type ScreenCall = PageCall;
export type GroupCall = Common &
  Someone & { groupId: string | number; traits?: Properties | undefined };
export type AliasCall = Common & { userId: string | number; previousId: string | number };

/** The arguments of each type of call. */
export interface Calls {
  identify: IdentifyCall;
  track: TrackCall;
  page: PageCall;
  screen: ScreenCall;
  group: GroupCall;
  alias: AliasCall;
}
export type CallType = keyof Calls;

/** A call on the wire, without `sentAt`. */
export interface Message {
  type: CallType;
  messageId: string;
  userId?: string;
  anonymousId?: string;
  previousId?: string;
  groupId?: string;
  event?: string;
  name?: string;
  category?: string;
  traits?: Properties;
  properties?: Properties;
  context?: Properties;
  integrations?: Readonly<Record<string, boolean | Properties>>;
  /** as the caller gave it */
  timestamp?: string;
  /** the time of the call, if the caller gave none */
  originalTimestamp?: string;
}

/** Thrown by a call that no server would accept. */
export class InvalidCallError extends Error {
  override readonly name = 'InvalidCallError';
  constructor(
    readonly code: 'invalid_call' | 'call_too_large',
    message: string,
  ) {
    super(message);
  }
}

const MAX_MESSAGE_ID_LENGTH = 99;

const IDS = ['userId', 'anonymousId', 'previousId', 'groupId'] as const;
const TEXTS = ['event', 'name', 'category'] as const;
const OBJECTS = ['traits', 'properties', 'context', 'integrations'] as const;

/** @throws InvalidCallError with the reason */
export function toMessage(
  type: CallType,
  call: object,
  now: number,
  makeId: () => string,
): Message {
  // JavaScript callers can pass anything: validate each field.
  const given = call as Readonly<Record<string, unknown>>;
  if (typeof call !== 'object' || (call as unknown) === null) {
    throw invalid(type, 'takes an object');
  }
  const message: Record<string, unknown> = { type, messageId: idOf(type, given, makeId) };
  for (const field of IDS) copy(message, field, id(type, field, given[field]));
  for (const field of TEXTS) copy(message, field, text(type, field, given[field]));
  for (const field of OBJECTS) copy(message, field, object(type, field, given[field]));
  const missing = lacking(type, message);
  if (missing !== undefined) throw invalid(type, `needs ${missing}`);
  if (given.timestamp == null) message.originalTimestamp = new Date(now).toISOString();
  else message.timestamp = time(type, given.timestamp);
  return message as unknown as Message;
}

function lacking(type: CallType, message: Readonly<Record<string, unknown>>): string | undefined {
  if (type === 'alias') {
    return message.userId === undefined
      ? 'userId'
      : message.previousId === undefined
        ? 'previousId'
        : undefined;
  }
  if (message.userId === undefined && message.anonymousId === undefined) {
    return 'userId or anonymousId';
  }
  if (type === 'track' && !message.event) return 'event';
  if (type === 'group' && message.groupId === undefined) return 'groupId';
  return undefined;
}

function copy(message: Record<string, unknown>, field: string, value: unknown): void {
  if (value !== undefined) message[field] = value;
}

function idOf(
  type: CallType,
  given: Readonly<Record<string, unknown>>,
  makeId: () => string,
): string {
  const own = id(type, 'messageId', given.messageId);
  if (own === undefined) return makeId();
  if (own.length > MAX_MESSAGE_ID_LENGTH) {
    throw invalid(type, 'takes a messageId of less than 100 characters');
  }
  return own;
}

function id(type: CallType, field: string, value: unknown): string | undefined {
  if (value == null || value === '') return undefined;
  if (typeof value === 'string') return value;
  // A whole number beyond 2^53 has already been rounded: two users would become one.
  if (
    typeof value === 'number' &&
    (!Number.isInteger(value) || Number.isSafeInteger(value)) &&
    Number.isFinite(value)
  ) {
    return String(value);
  }
  throw invalid(type, `takes a text or a number up to 2^53 as ${field}`);
}

function text(type: CallType, field: string, value: unknown): string | undefined {
  if (value == null) return undefined;
  if (typeof value !== 'string') throw invalid(type, `takes a text as ${field}`);
  return value;
}

function object(type: CallType, field: string, value: unknown): unknown {
  if (value == null) return undefined;
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid(type, `takes an object as ${field}`);
  }
  return value;
}

const ISO = /^\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?<zone>Z|[+-]\d{2}:?\d{2})?)?$/;

/** Ingest would silently replace an unreadable text with the time of arrival. */
function time(type: CallType, value: unknown): string {
  const date =
    value instanceof Date ? value : typeof value === 'string' ? readTime(value) : undefined;
  if (date === undefined || Number.isNaN(date.getTime())) {
    throw invalid(type, 'takes a Date or ISO 8601 as timestamp');
  }
  return date.toISOString();
}

/** A text without an offset is UTC: this machine's time zone must not matter. */
function readTime(text: string): Date | undefined {
  const found = ISO.exec(text);
  if (!found) return undefined;
  return new Date(text.includes('T') && found.groups?.zone === undefined ? `${text}Z` : text);
}

function invalid(type: CallType, message: string): InvalidCallError {
  return new InvalidCallError('invalid_call', `${type} ${message}`);
}
