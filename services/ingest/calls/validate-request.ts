import { isUtf8 } from 'node:buffer';
import { parseJson, stringifyJson } from '../../../shared/json/json';
import { type EventWarning } from '../../../shared/model/client-time';
import { type WrittenMessage, writeMessage } from '../../../shared/model/cut-body';
import { type CallType, type Json, type Message } from '../../../shared/model/message';
import { type CallFault, type RejectedCall } from '../../../shared/model/rejected-calls';
import { measureJson, type Shape } from './json-limits';
import { isCallFault, normalize, SharedObject } from './normalize';
import {
  callFault,
  type Envelope,
  type FoundFault,
  isFault,
  MAX_CALLS,
  NO_FAULTS,
  type ParsedRequest,
  readCalls,
  type RequestFault,
  textOf,
  tooMany,
} from './parse-batch';
import { readBrokenBatch, readBrokenCall } from './read-broken';
import { type Steps } from './steps';

/**
 * Splits a request's body into messages and rejected calls. A bad call never costs its batch; only
 * a body of which no call can be read is refused.
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
/**
 * Different keys cost most: V8 makes a shape for each object that has others than those before it.
 * 50,000 of them took 30 to 180 ms, in which the thread served nobody else. A batch with more is
 * read call by call: a call of 32 KB has fewer, since a key and its value take at least six bytes.
 */
const MAX_NEW_KEYS = 5_500;
const SCAN_LIMITS = {
  depth: MAX_DEPTH,
  containers: MAX_CONTAINERS,
  keys: MAX_KEYS,
  newKeys: MAX_NEW_KEYS,
  itemBytes: MAX_CALL_BYTES,
};
/**
 * Bytes of all messages of a request. The envelope is repeated in each: 500 KB could become 80 MB.
 */
export const MAX_MERGED_BYTES = 2 * 1024 * 1024;

/** A message, and how its record holds it. */
export interface AcceptedCall extends WrittenMessage {
  /** counts the calls of the request from 0 */
  index: number;
  message: Message;
  warnings: readonly EventWarning[];
}

export interface ValidatedCalls {
  accepted: AcceptedCall[];
  rejected: RejectedCall[];
}

/** @param kind the type of call that the path names, or `batch` */
export function* parseBody(
  body: Buffer,
  kind: CallType | 'batch',
): Steps<ParsedRequest | RequestFault> {
  const shape = measureJson(body, SCAN_LIMITS);
  yield;
  if (typeof shape === 'string') return yield* readUnparsed(body, kind, FAULTS_OF_SHAPE[shape]);
  if (!isUtf8(body)) return yield* readUnparsed(body, kind, INVALID_ENCODING);
  const text = textOf(body);
  let value: Json;
  try {
    value = parseJson(text) as Json;
  } catch {
    if (kind === 'batch') return yield* readBrokenBatch(body, INVALID_JSON, SCAN_LIMITS);
    const read = readBrokenCall(text, kind, body.length) ?? INVALID_JSON;
    return isFault(read) ? read : { ...read, faults: faultsOfSize(shape, kind) };
  }
  const read = readCalls(value, kind, body.length);
  if (isFault(read)) return { ...read, callCount: kind === 'batch' ? callsIn(shape) : 1 };
  const large = faultsOfSize(shape, kind);
  return large.size === 0 ? read : { ...read, faults: new Map([...large, ...read.faults]) };
}

const INVALID_JSON: RequestFault = {
  code: 'invalid_json',
  message: 'The body is not valid JSON.',
  callCount: 1,
};

const INVALID_ENCODING: RequestFault = {
  code: 'invalid_encoding',
  message: 'The body has bytes that are not UTF-8. Name its charset in Content-Type.',
};

const FAULTS_OF_SHAPE: Record<'too_deep' | 'too_complex', RequestFault> = {
  too_deep: {
    code: 'too_deep',
    message: `The body may be nested at most ${MAX_DEPTH} levels deep.`,
  },
  too_complex: {
    code: 'too_complex',
    message:
      `The body may have at most ${MAX_CONTAINERS} objects and arrays and ${MAX_KEYS} ` +
      `keys, ${MAX_NEW_KEYS} of them different. Send fewer calls in a request.`,
  },
};

/** Reads a body that cannot be parsed as a whole: its calls may be readable one by one. */
function* readUnparsed(
  body: Buffer,
  kind: CallType | 'batch',
  fault: RequestFault,
): Steps<ParsedRequest | RequestFault> {
  return kind === 'batch' ? yield* readBrokenBatch(body, fault, SCAN_LIMITS) : fault;
}

function callsIn({ items }: Shape): number {
  return Math.min(Math.max(1, items), MAX_CALLS);
}

function faultsOfSize(shape: Shape, kind: CallType | 'batch'): ReadonlyMap<number, FoundFault> {
  if (kind !== 'batch') {
    return shape.bytes > MAX_CALL_BYTES ? new Map([[0, CALL_TOO_LARGE]]) : NO_FAULTS;
  }
  if (shape.largeItems.size === 0) return NO_FAULTS;
  return new Map([...shape.largeItems].map((index) => [index, CALL_TOO_LARGE]));
}

const CALL_TOO_LARGE: FoundFault = {
  code: 'call_too_large',
  message: `A call may have at most ${MAX_CALL_BYTES} bytes.`,
};

/** What validating needs besides the calls. */
export interface Receipt {
  /** time of arrival, ms since 1970 */
  now: number;
  /** for calls without a `messageId` */
  makeId: () => string;
  /** whether a write key is one of the source; asked for envelopes of broken bodies */
  isOwnKey: (key: string) => boolean;
}

/** Validates each call. */
export function* validateCalls(
  parsed: ParsedRequest,
  { now, makeId, isOwnKey }: Receipt,
): Steps<ValidatedCalls> {
  const { calls, runs, faults } = parsed;
  const receivedAt = new Date(now).toISOString();
  const accepted: AcceptedCall[] = [];
  const rejected: RejectedCall[] = [];
  const shared = new Map<Envelope, Shared>();
  let bytes = 0;
  for (const [i, { from, envelope }] of runs.entries()) {
    const to = runs[i + 1]?.from ?? calls.length;
    const fault = envelope.fault ?? (parsed.isBroken ? keyFault(envelope, isOwnKey) : undefined);
    const added = shared.get(envelope) ?? sharedOf(envelope);
    shared.set(envelope, added);
    const around = {
      type: parsed.type,
      sharedTraits: envelope.context?.traits,
      sentAt: envelope.sentAt,
      receivedAtMs: now,
      receivedAt,
      makeId,
    };
    for (let index = from; index < to; index++) {
      yield;
      const found = faults.get(index) ?? (index < MAX_CALLS ? fault : tooMany(1));
      if (found) {
        rejected.push(rejectedCall(index, found));
        continue;
      }
      const normalized = normalize(calls[index] ?? null, around);
      if (isCallFault(normalized)) {
        rejected.push(rejectedCall(index, normalized));
        continue;
      }
      const { message, warnings } = normalized;
      // Once a message is too much, the smaller ones behind it are not tried: merging all of them
      // would cost 80 MB.
      const written = bytes > MAX_MERGED_BYTES ? undefined : writtenWith(added, message);
      if (written) bytes += Buffer.byteLength(written.value);
      if (!written || bytes > MAX_MERGED_BYTES) {
        rejected.push(rejectedCall(index, MERGED_TOO_LARGE));
      } else {
        accepted.push({ index, message, warnings, ...written });
      }
    }
  }
  return { accepted, rejected };
}

function keyFault(
  { writeKey }: Envelope,
  isOwnKey: (key: string) => boolean,
): CallFault | undefined {
  if (writeKey === undefined || isOwnKey(writeKey)) return undefined;
  return callFault(
    'other_write_key',
    'The `writeKey` of the envelope of this call is no key of this source.',
  );
}

function rejectedCall(index: number, { code, message, count }: FoundFault): RejectedCall {
  const call: RejectedCall = { index, code, message };
  if (count !== undefined) call.count = count;
  return call;
}

const MERGED_TOO_LARGE: CallFault = {
  code: 'merged_too_large',
  message:
    `The calls of a request, each with the envelope's \`context\` and \`integrations\`, may ` +
    `have at most ${MAX_MERGED_BYTES} bytes together.`,
};

/** The objects that the envelope adds to each call. */
interface Shared {
  context: SharedObject | undefined;
  integrations: SharedObject | undefined;
}

function sharedOf({ context, integrations }: Envelope): Shared {
  return {
    context: context && new SharedObject(context),
    integrations: integrations && new SharedObject(integrations),
  };
}

function writtenWith(shared: Shared, message: Message): WrittenMessage {
  return shared.context || shared.integrations ? merged(message, shared) : writeMessage(message);
}

/**
 * Writes the message with the envelope's objects merged in; the call's own keys take precedence.
 * The router parses it: the objects are not among the body's fields.
 */
function merged(message: Message, envelope: Shared): WrittenMessage {
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
