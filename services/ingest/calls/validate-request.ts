import { parseJson, stringifyJson } from '../../../shared/json/json';
import {
  type Calls,
  isFault,
  isObject,
  MAX_CALLS,
  MAX_ENVELOPE_BYTES,
  readCalls,
  type RequestFault,
} from './parse-batch';
import { type WrittenMessage, writeMessage } from '../../../shared/model/cut-body';
import { type EventWarning } from '../../../shared/model/client-time';
import { type CallType, type Json, type Message } from '../../../shared/model/message';
import { isCallFault, normalize, type Surroundings, SharedObject } from './normalize';
import { type RejectedCall, type RejectedRecord } from '../../../shared/model/rejected-calls';
import { measureJson, type Shape } from './json-limits';

/**
 * Splits a request's body into messages and rejected calls. A bad call never costs its batch; a
 * fault of the request as a whole refuses all of it.
 */

const MAX_CALL_BYTES = 32_768;
/**
 * Levels of objects and arrays, including the body. Deeper values overflow the stack when they are
 * serialized.
 */
const MAX_DEPTH = 100;
/**
 * Objects and arrays of a body: ten for each of 2,500 calls. They determine the cost of parsing,
 * not the bytes: 551 bytes of gzip with 170,000 empty arrays took 4 ms.
 */
const MAX_CONTAINERS = 25_000;
/**
 * Keys of all objects of a body: 20 for each of 2,500 calls, which is ten bytes for a key and its
 * value.
 */
const MAX_KEYS = 50_000;
const SCAN_LIMITS = {
  depth: MAX_DEPTH,
  containers: MAX_CONTAINERS,
  keys: MAX_KEYS,
  itemBytes: MAX_CALL_BYTES,
};
/**
 * Bytes of all messages of a request. The envelope is repeated in each: 500 KB could become 80 MB.
 */
export const MAX_MERGED_BYTES = 2 * 1024 * 1024;
/** The debugger shows only the beginning of a call that is too large. */
const KEPT_TEXT_LENGTH = 4_096;

/** A parsed body: its calls, and the indexes of calls that are too large. */
export interface ParsedRequest extends Calls {
  large: ReadonlySet<number>;
}

/** A message, and how its record holds it. */
export interface AcceptedCall extends WrittenMessage {
  message: Message;
  warnings: readonly EventWarning[];
}

export interface ValidatedCalls {
  accepted: AcceptedCall[];
  rejected: RejectedCall[];
}

/** @param kind the type of call that the path names, or `batch` */
export function parseBody(body: Buffer, kind: CallType | 'batch'): ParsedRequest | RequestFault {
  const shape = measureJson(body, SCAN_LIMITS);
  if (shape.depth > MAX_DEPTH) {
    return {
      code: 'too_deep',
      message: `The body may be nested at most ${MAX_DEPTH} levels deep.`,
    };
  }
  if (shape.containers > MAX_CONTAINERS || shape.keys > MAX_KEYS) {
    return {
      code: 'too_complex',
      message:
        `The body may have at most ${MAX_CONTAINERS} objects and arrays and ${MAX_KEYS} ` +
        'keys. Send fewer calls in a request.',
    };
  }
  const calls = kind === 'batch' ? Math.min(Math.max(1, shape.items), MAX_CALLS) : 1;
  if (kind === 'batch' && mergesTooMuch(body, shape)) return mergedTooLarge(calls);
  let value: Json;
  try {
    value = parseJson(textOf(body)) as Json;
  } catch {
    return { code: 'invalid_json', message: 'The body is not valid JSON.', callCount: calls };
  }
  const read = readCalls(value, kind, body.length);
  if (isFault(read)) return { ...read, callCount: calls };
  const large =
    kind === 'batch' ? shape.largeItems : shape.bytes > MAX_CALL_BYTES ? ONLY_CALL : NO_CALL;
  return { ...read, large };
}

const NO_CALL: ReadonlySet<number> = new Set();
const ONLY_CALL: ReadonlySet<number> = new Set([0]);

/**
 * Returns whether the envelope alone, merged into each call, exceeds the limit. It parses only the
 * envelope: parsing 2,500 calls to refuse them takes 2 ms. Envelopes and batches with other faults
 * are left to `readCalls`.
 */
function mergesTooMuch(body: Buffer, { items, shared }: Shape): boolean {
  if (items > MAX_CALLS) return false;
  const parts = Object.values(shared);
  const sent = parts.reduce((sum, [start, end]) => sum + end - start, 0);
  if (sent * items <= MAX_MERGED_BYTES || sent > 2 * MAX_ENVELOPE_BYTES) return false;
  try {
    const texts = parts.map(([start, end]) => parseJson(body.toString('utf8', start, end)) as Json);
    if (!texts.every(isObject)) return false;
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(stringifyJson(text)), 0);
    return bytes <= MAX_ENVELOPE_BYTES && bytes * items > MAX_MERGED_BYTES;
  } catch {
    return false;
  }
}

/**
 * Decodes the body without a byte order mark, which the parser refuses and some clients on Windows
 * write.
 */
function textOf(body: Buffer): string {
  const bom = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return body.toString('utf8', bom ? 3 : 0);
}

/** Validates each call. @param now time of arrival, ms since 1970 */
export function validateCalls(
  parsed: ParsedRequest,
  now: number,
  makeId: () => string,
): ValidatedCalls | RequestFault {
  const around: Surroundings = {
    type: parsed.type,
    sharedTraits: parsed.context?.traits,
    sentAt: parsed.sentAt,
    receivedAtMs: now,
    receivedAt: new Date(now).toISOString(),
    makeId,
  };
  const envelope = envelopeOf(parsed);
  if (envelope && envelope.bytes * parsed.calls.length > MAX_MERGED_BYTES) {
    return mergedTooLarge(parsed.calls.length);
  }
  const accepted: AcceptedCall[] = [];
  const rejected: RejectedCall[] = [];
  let bytes = 0;
  for (const [index, call] of parsed.calls.entries()) {
    if (parsed.large.has(index)) {
      rejected.push({
        index,
        code: 'call_too_large',
        message: `A call may have at most ${MAX_CALL_BYTES} bytes.`,
      });
      continue;
    }
    const normalized = normalize(call, around);
    if (isCallFault(normalized)) {
      rejected.push({ index, code: normalized.code, message: normalized.message });
      continue;
    }
    const { message, warnings } = normalized;
    const written = envelope ? merged(message, envelope) : writeMessage(message);
    bytes += Buffer.byteLength(written.value);
    if (bytes > MAX_MERGED_BYTES) return mergedTooLarge(parsed.calls.length);
    accepted.push({ message, warnings, ...written });
  }
  return { accepted, rejected };
}

function mergedTooLarge(callCount: number): RequestFault {
  return {
    code: 'merged_too_large',
    message:
      `The calls of a request, each with the envelope's \`context\` and \`integrations\`, ` +
      `may have at most ${MAX_MERGED_BYTES} bytes together.`,
    callCount,
  };
}

/** The objects that the envelope adds to each call. */
interface Envelope {
  context: SharedObject | undefined;
  integrations: SharedObject | undefined;
  bytes: number;
}

function envelopeOf({ context, integrations }: ParsedRequest): Envelope | undefined {
  if (context === undefined && integrations === undefined) return undefined;
  const shared = {
    context: context && new SharedObject(context),
    integrations: integrations && new SharedObject(integrations),
  };
  const texts = [shared.context?.text ?? '', shared.integrations?.text ?? ''];
  return { ...shared, bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) };
}

/**
 * Writes the message with the envelope's objects merged in; the call's own keys take precedence.
 * The router parses it: the objects are not among the body's fields.
 */
function merged(message: Message, envelope: Envelope): WrittenMessage {
  let added = '';
  const rest: Record<string, unknown> = { ...message };
  for (const field of SHARED_FIELDS) {
    const shared = envelope[field];
    if (shared === undefined) continue;
    added += `,"${field}":${shared.with(message[field])}`;
    // Not deleted, because V8 would turn the object into a slow one.
    rest[field] = undefined;
  }
  // A message is never empty, because it has a type.
  return { value: `${stringifyJson(rest).slice(0, -1)}${added}}` };
}

const SHARED_FIELDS = ['context', 'integrations'] as const;

/** Returns the record of a rejected call for the debugger. @param at time of arrival, ISO 8601 */
export function rejectedRecord(
  fault: RejectedCall,
  call: Json,
  source: string,
  at: string,
): RejectedRecord {
  const record = { at, source, code: fault.code, message: fault.message };
  const shown = isObject(call) ? withoutKeys(call) : call;
  if (fault.code !== 'call_too_large') return { ...record, call: shown };
  return { ...record, call: stringifyJson(shown).slice(0, KEPT_TEXT_LENGTH), truncated: true };
}

function withoutKeys(call: Record<string, Json>): Json {
  const shown = { ...call };
  delete shown.writeKey;
  delete shown._metadata;
  return shown;
}
