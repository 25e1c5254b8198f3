import { stringifyJson } from '../json/json';
import {
  eventNameOf,
  isCallType,
  isLongName,
  type Message,
  MESSAGE_TYPES,
  type MessageType,
} from './message';
import { type RoutedFields, wantsWebhooks } from './route';
import { bodyFields, renderBody } from './webhook-body';

/**
 * Lets the router cut the delivered body off a message, where it would parse the message and render
 * the body. The value of a record begins with the fields of the body, in their order, and its
 * header `body` says how many bytes they are.
 *
 * The router parses a message without this header, and where it needs more than a header can say.
 */

/** The body begins with it, and the message does not contain it. */
const OPENING = '{"version":1,';
const OPENING_BYTES = Buffer.from(OPENING);

/** The fields of a message that its deliveries need, if no destination asks for others. */
type KnownFields = RoutedFields & Pick<Message, 'name' | 'userId' | 'anonymousId'>;

export interface WrittenMessage {
  /** JSON */
  value: string;
  /**
   * header `body`: bytes of the body's fields, type, the field that names the user, and the name of
   * a page or screen
   */
  body?: string;
}

/** Writes a message so that the router can cut off its body. */
export function writeMessage(message: Message): WrittenMessage {
  if (!canBeCut(message)) return { value: stringifyJson(message) };
  const inBody = IN_BODY.get(message.type);
  const others: Record<string, unknown> = {};
  for (const key of Object.keys(message)) {
    if (!inBody?.has(key)) others[key] = message[key as keyof Message];
  }
  const body = renderBody(message);
  const bytes = Buffer.byteLength(body) - OPENING.length;
  const idField = message.userId === undefined ? 'anonymousId' : 'userId';
  const name = message.type === 'track' ? '' : (eventNameOf(message) ?? '');
  return {
    value: `{${body.slice(OPENING.length, -1)},${stringifyJson(others).slice(1)}`,
    body: `${bytes},${message.type},${idField},${name}`,
  };
}

/** The names of the body's fields by type. */
const IN_BODY: ReadonlyMap<MessageType, ReadonlySet<string>> = new Map(
  MESSAGE_TYPES.map((type) => [type, new Set(Object.keys(bodyFields({ type } as Message)))]),
);

/**
 * Returns whether the body's fields are fields of the message, and its headers suffice to route it.
 */
function canBeCut(message: Message): boolean {
  const { type, event } = message;
  if (type === 'alias' || type === 'delete' || Object.hasOwn(message, 'version')) return false;
  // Its whole name may be blocked, and the header `event` has no long name.
  if (type === 'track' && (event === undefined || isLongName(event))) return false;
  if (message.userId === undefined && message.anonymousId === undefined) return false;
  return wantsWebhooks(message);
}

/** A message that was not parsed. */
export interface CutMessage {
  message: KnownFields;
  /** of its record; it begins with the fields of the body */
  value: Buffer;
  /** length of these fields, with the brace before them */
  bytes: number;
}

/**
 * Reads a message without parsing its value.
 * @param head the record's headers `body` and `event`
 * @returns undefined if it must be parsed
 */
export function cutMessage(
  { sourceId, body, event }: { sourceId: string; body?: string; event?: string },
  { key, value }: { key: Buffer | null; value: Buffer | null },
): CutMessage | undefined {
  if (body === undefined || key === null || value === null) return undefined;
  const [, digits, type, idField, name] = HEADER.exec(body) ?? [];
  const bytes = Number(digits);
  if (!isCallType(type) || value[bytes] !== COMMA) return undefined;
  const user = key.toString('utf8', sourceId.length + 1);
  const message: KnownFields = { type };
  if (type === 'track' && event !== undefined) message.event = event;
  if (name) message.name = name;
  message[idField === 'userId' ? 'userId' : 'anonymousId'] = user;
  return { message, value, bytes };
}

const HEADER = /^([0-9]{1,9}),([a-z]+),(userId|anonymousId),(.*)$/s;
const COMMA = 0x2c;

/** Returns the JSON text to POST, in a new buffer. */
export function cutBody({ value, bytes }: CutMessage): Buffer {
  const cut = Buffer.allocUnsafe(OPENING.length + bytes);
  OPENING_BYTES.copy(cut);
  value.copy(cut, OPENING.length, 1, bytes);
  cut[cut.length - 1] = CLOSING;
  return cut;
}

const CLOSING = 0x7d;
