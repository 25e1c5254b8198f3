import { ExactNumber, stringifyJson } from '../../../shared/json/json';
import { callFault, isEmptyArray } from './parse-batch';
import {
  CALL_TYPES,
  type CallType,
  isCallType,
  isJsonObject,
  type Json,
  type JsonObject,
  MAX_ID_BYTES,
  type Message,
} from '../../../shared/model/message';
import { type CallFault } from '../../../shared/model/rejected-calls';
import { callTime, type EventWarning } from '../../../shared/model/client-time';

/**
 * Converts a call as sent to the message as accepted, or returns the first fault. `null` in a
 * call's own fields means absent; a deeper null (such as an unset trait) is data and stays. Unknown
 * fields are kept unchanged.
 */

/** The values that a call takes from its request. */
export interface Surroundings {
  /** the type from the path, which wins */
  type: CallType | undefined;
  /** `context.traits` of the envelope */
  sharedTraits: Json | undefined;
  sentAt: Json | undefined;
  receivedAtMs: number;
  /** the same moment, as ISO 8601 */
  receivedAt: string;
  makeId: () => string;
}

const MAX_MESSAGE_ID_LENGTH = 99;

/**
 * The rule for reading a field. `id`: a text, or a number that becomes a text; an empty one is
 * absent. `made`: Waypost writes it. `dropped`: never passed on; `writeKey` would leak to webhooks,
 * `_metadata` is meant for the client's vendor, and `__proto__` must never be assigned as a key.
 */
type Reading = 'id' | 'messageId' | 'text' | 'object' | 'made' | 'dropped';
const READINGS: ReadonlyMap<string, Reading> = new Map<string, Reading>([
  ['type', 'made'],
  ['timestamp', 'made'],
  ['originalTimestamp', 'made'],
  ['sentAt', 'made'],
  ['receivedAt', 'made'],
  ['messageId', 'messageId'],
  ['userId', 'id'],
  ['anonymousId', 'id'],
  ['previousId', 'id'],
  ['groupId', 'id'],
  ['event', 'text'],
  ['name', 'text'],
  ['category', 'text'],
  ['properties', 'object'],
  ['traits', 'object'],
  ['context', 'object'],
  ['integrations', 'object'],
  ['writeKey', 'dropped'],
  ['_metadata', 'dropped'],
  ['__proto__', 'dropped'],
]);

/** A call as accepted. */
export interface NormalizedCall {
  message: Message;
  /** what could not be read, and was replaced */
  warnings: readonly EventWarning[];
}

/**
 * @returns the message without the envelope's `context` and `integrations`, a new object that
 * shares its parts with the call; or the first fault found
 */
export function normalize(call: Json, around: Surroundings): NormalizedCall | CallFault {
  if (!isJsonObject(call)) return callFault('invalid_call', 'A call must be a JSON object.');
  const type = around.type ?? call.type;
  if (!isCallType(type)) {
    return callFault('invalid_type', `\`type\` must be one of ${CALL_TYPES.join(', ')}.`);
  }

  const message: Partial<Message> & JsonObject = {
    type,
    messageId: '',
    timestamp: '',
    receivedAt: around.receivedAt,
  };
  const wrong = copyFields(call, message) ?? lacking(type, message);
  if (wrong) return wrong;
  addId(message, around.makeId);
  if ((message.messageId ?? '').length > MAX_MESSAGE_ID_LENGTH) {
    return callFault('message_id_too_long', '`messageId` must have less than 100 characters.');
  }
  const warnings = addTimes(message, call, around);
  if (type === 'identify' && message.traits === undefined) {
    // Rudder's Python client sends an identify's traits only in the context.
    const { context } = message;
    const traits =
      context !== undefined && Object.hasOwn(context, 'traits')
        ? context.traits
        : around.sharedTraits;
    if (isJsonObject(traits)) message.traits = traits;
  }
  return { message: message as Message, warnings };
}

export function isCallFault(result: NormalizedCall | CallFault): result is CallFault {
  return 'code' in result;
}

function copyFields(call: JsonObject, message: JsonObject): CallFault | undefined {
  for (const field of Object.keys(call)) {
    const value = call[field];
    if (value === undefined || value === null) continue;
    const reading = READINGS.get(field);
    if (reading === undefined) {
      message[field] = value;
    } else if (reading !== 'made' && reading !== 'dropped') {
      const read = READERS[reading](value);
      if (read === null) {
        return callFault('invalid_field', `\`${field}\` must be ${WANTED[reading]}.`);
      }
      if (read === undefined) continue;
      if (reading === 'id' && isTooLong(read as string)) {
        return callFault('id_too_long', `\`${field}\` may have ${MAX_ID_BYTES} bytes of UTF-8.`);
      }
      message[field] = read;
    }
  }
  return undefined;
}

function isTooLong(id: string): boolean {
  // A UTF-16 unit is at most three bytes, so most ids need no counting.
  return id.length * 3 > MAX_ID_BYTES && Buffer.byteLength(id) > MAX_ID_BYTES;
}

function readId(value: Json): string | undefined | null {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value === 'number') return digitsOf(value);
  return value instanceof ExactNumber ? value.digits : null;
}

/** Writes a number as it is sent in most languages: 1e21 of JavaScript is `1` and 21 zeros. */
function digitsOf(number: number): string {
  const text = String(number);
  const [mantissa = '', exponent] = text.split('e+');
  if (exponent === undefined) return text;
  const [whole = '', fraction = ''] = mantissa.split('.');
  return whole + fraction.padEnd(Number(exponent), '0');
}

/**
 * Each reader returns the value to keep, undefined if it counts as absent, null if it is invalid.
 */
const READERS = {
  id: readId,
  messageId: readId,
  text: (value: Json) => (typeof value === 'string' ? value : null),
  object: (value: Json) => (isJsonObject(value) ? value : isEmptyArray(value) ? undefined : null),
};
const WANTED = {
  id: 'a text or a number',
  messageId: 'a text or a number',
  text: 'a text',
  object: 'an object',
};

/** Checks the required fields. An alias joins two ids, and is the only type that needs both. */
function lacking(type: CallType, message: Partial<Message>): CallFault | undefined {
  if (type === 'alias') {
    if (message.userId === undefined) {
      return callFault('missing_user_id', 'An alias needs `userId`.');
    }
    if (message.previousId === undefined) {
      return callFault('missing_previous_id', 'An alias needs `previousId`.');
    }
    return undefined;
  }
  if (message.userId === undefined && message.anonymousId === undefined) {
    return callFault('no_user_anon_id', 'A call needs `userId` or `anonymousId`.');
  }
  if (type === 'track' && !message.event) {
    return callFault('missing_event', 'A track needs `event`.');
  }
  if (type === 'group' && message.groupId === undefined) {
    return callFault('missing_group_id', 'A group needs `groupId`.');
  }
  return undefined;
}

function addId(message: Partial<Message>, makeId: () => string): void {
  if (message.messageId === '' || message.messageId === undefined) message.messageId = makeId();
}

function addTimes(
  message: Partial<Message>,
  call: JsonObject,
  around: Surroundings,
): readonly EventWarning[] {
  const original = call.timestamp ?? call.originalTimestamp;
  const sentAt = call.sentAt ?? around.sentAt;
  const { ms, warnings } = callTime(original, sentAt, around.receivedAtMs);
  message.timestamp = ms === around.receivedAtMs ? around.receivedAt : new Date(ms).toISOString();
  const originalText = textOfTime(original);
  const sentText = textOfTime(sentAt);
  if (originalText !== undefined) message.originalTimestamp = originalText;
  if (sentText !== undefined) message.sentAt = sentText;
  return warnings;
}

/** Returns a time as it was sent; undefined for what is neither a text nor a number. */
function textOfTime(time: Json | undefined): string | undefined {
  if (typeof time === 'string') return time;
  return typeof time === 'number' || time instanceof ExactNumber ? String(time) : undefined;
}

/**
 * An object of the envelope that is merged into each call of a request. Its text is made once and
 * copied, so that merging costs by bytes and not by keys: 2,500 keys over 2,500 calls took 90 ms as
 * objects.
 */
export class SharedObject {
  readonly text: string;
  /** top-level keys, each with its text */
  #members: [key: string, text: string][] | undefined;

  constructor(private readonly value: JsonObject) {
    this.text = stringifyJson(value);
  }

  /** Returns the object as JSON; the call's own keys replace shared ones, one level deep. */
  with(own: JsonObject | undefined): string {
    const ownKeys = own === undefined ? [] : Object.keys(own);
    if (own === undefined || ownKeys.length === 0) return this.text;
    const ownText = stringifyJson(own);
    if (!ownKeys.some((key) => Object.hasOwn(this.value, key))) {
      return this.text === '{}' ? ownText : `${this.text.slice(0, -1)},${ownText.slice(1)}`;
    }
    let kept = '';
    for (const [key, text] of this.members) if (!Object.hasOwn(own, key)) kept += `${text},`;
    return `{${kept}${ownText.slice(1)}`;
  }

  private get members(): readonly [key: string, text: string][] {
    this.#members ??= Object.entries(this.value).map(([key, value]) => [
      key,
      `${JSON.stringify(key)}:${stringifyJson(value)}`,
    ]);
    return this.#members;
  }
}
