import { stringifyJson } from '../../../shared/json/json';
import {
  type CallType,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../../../shared/model/message';
import { type CallFault, type CallFaultCode } from '../../../shared/model/rejected-calls';
import { type Excerpt, excerptOfText } from './excerpt';

/**
 * Splits a request's body into its calls and what their envelope adds to each. A fault of the
 * request as a whole refuses it: the sender gets a 400. Any other fault costs only the calls that
 * cannot be accepted because of it.
 */

/** Stable codes of faults of a whole request, each answered with 400. */
type RequestFaultCode =
  | 'invalid_json'
  | 'invalid_body'
  | 'missing_batch'
  | 'invalid_batch'
  | 'invalid_envelope'
  | 'invalid_encoding'
  | 'too_deep'
  | 'too_complex';

export interface RequestFault {
  code: RequestFaultCode;
  message: string;
  /** number of calls in the refused request, if it was read far enough */
  callCount?: number;
}

/** A fault that was found before the calls were validated. */
export interface FoundFault extends CallFault {
  /**
   * Returns what was sent, if it was not parsed: called only for what is stored, since a body may
   * have 5,000 faults.
   */
  excerpt?: () => Excerpt;
  /** present if it stands for several calls */
  count?: number;
}

/** What calls take from their envelope. */
export interface Envelope {
  context: JsonObject | undefined;
  integrations: JsonObject | undefined;
  sentAt: Json | undefined;
  /** as the envelope itself names it */
  writeKey: string | undefined;
  /** the reason why none of its calls can be accepted */
  fault: CallFault | undefined;
}

/** Calls that stand one behind another, up to the next run. */
export interface Run {
  /** index of the first call */
  from: number;
  envelope: Envelope;
}

/** A body that was read: its calls, and their envelopes. */
export interface ParsedRequest {
  /** As sent, not validated; null if `faults` says why it was not parsed. */
  calls: readonly Json[];
  runs: readonly Run[];
  /** number of calls, with those beyond `calls` */
  callCount: number;
  /** the type from the path, which wins over the call's own; undefined for a batch */
  type: CallType | undefined;
  /** from the envelope or the single call, else from the first item */
  writeKey: string | undefined;
  /** by the index of the call */
  faults: ReadonlyMap<number, FoundFault>;
  /** what was lost of envelopes */
  lost: readonly FoundFault[];
  /**
   * Nothing says that its envelopes are of one client: it is no JSON, or not all of it was read.
   */
  isBroken: boolean;
}

export const MAX_CALLS = 2_500;
/**
 * A stranger can send 250,000 calls in a body. Each up to this one is named in the response, and
 * the rest together.
 */
export const MOST_LISTED = 2 * MAX_CALLS;
/**
 * Limit of the envelope's `context` and `integrations` together, since each of up to 2,500 calls
 * repeats them.
 */
const MAX_ENVELOPE_BYTES = 32_768;
export const NO_FAULTS: ReadonlyMap<number, FoundFault> = new Map();

/**
 * Reads a parsed body.
 * @param kind the path's type of call, or `batch`
 * @param bodyBytes size of the body; the parts of a small one need not be measured
 */
export function readCalls(
  body: Json,
  kind: CallType | 'batch',
  bodyBytes: number,
): ParsedRequest | RequestFault {
  if (!isJsonObject(body)) return requestFault('invalid_body', 'The body must be a JSON object.');
  return kind === 'batch' ? readBatch(body, bodyBytes) : readSingle(body, kind);
}

export function isFault(result: object): result is RequestFault {
  return 'code' in result;
}

/**
 * Decodes a body without a byte order mark, which the parser refuses and some clients on Windows
 * write.
 */
export function textOf(body: Buffer): string {
  const bom = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return body.toString('utf8', bom ? 3 : 0);
}

/** PHP writes an empty map as `[]`. */
export function isEmptyArray(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}

function readSingle(call: JsonObject, type: CallType): ParsedRequest {
  return {
    calls: [call],
    runs: [{ from: 0, envelope: NO_ENVELOPE }],
    callCount: 1,
    type,
    writeKey: writeKeyOf(call),
    faults: NO_FAULTS,
    lost: [],
    isBroken: false,
  };
}

const NO_ENVELOPE: Envelope = {
  context: undefined,
  integrations: undefined,
  sentAt: undefined,
  writeKey: undefined,
  fault: undefined,
};

function readBatch(body: JsonObject, bodyBytes: number): ParsedRequest | RequestFault {
  // Go v2.0.0 sends a null batch when it is closed with nothing to send. A body without `batch` is
  // a mistake, and a 200 would lose the sender's data.
  if (!Object.hasOwn(body, 'batch')) {
    return requestFault('missing_batch', 'The body has no `batch`.');
  }
  const calls = body.batch ?? [];
  if (!Array.isArray(calls)) {
    return requestFault('invalid_batch', '`batch` must be an array of calls.');
  }
  const lost: FoundFault[] = [];
  const envelope = readEnvelope(body, bodyBytes, lost);
  const wrong = envelope.fault ?? lost[0];
  if (calls.length === 0 && wrong) return requestFault('invalid_envelope', wrong.message);
  const writeKey = envelope.writeKey ?? writeKeyOf(calls[0]);
  const listed = calls.length > MOST_LISTED ? calls.slice(0, MOST_LISTED + 1) : calls;
  const faults =
    calls.length > MOST_LISTED
      ? new Map([[MOST_LISTED, tooMany(calls.length - MOST_LISTED)]])
      : NO_FAULTS;
  return {
    calls: listed,
    runs: [{ from: 0, envelope }],
    callCount: calls.length,
    type: undefined,
    writeKey,
    faults,
    lost,
    isBroken: false,
  };
}

/** @param count the calls that the fault stands for */
export function tooMany(count: number): FoundFault {
  const found: FoundFault = {
    code: 'too_many_calls',
    message: `A request may have at most ${MAX_CALLS} calls.`,
  };
  if (count > 1) found.count = count;
  return found;
}

/**
 * Reads what an envelope adds to its calls. They are accepted without a `context` that is no object
 * or too large. Without its `integrations` they are not: these may say that no webhook may have
 * them.
 * @param bytes size of the text in which the members stand; those of a small one need not be
 *   measured
 * @param lost receives what the calls do without
 */
export function readEnvelope(
  members: Readonly<Partial<Record<'context' | 'integrations' | 'sentAt' | 'writeKey', Json>>>,
  bytes: number,
  lost: FoundFault[],
): Envelope {
  const integrations = sharedObject(members.integrations);
  let context = sharedObject(members.context);
  let wrong: CallFault | undefined;
  if (integrations === null) {
    wrong = callFault('invalid_envelope', '`integrations` must be an object.');
  }
  if (context === null) {
    lost.push(lostContext('invalid_envelope', '`context` must be an object.', members.context));
    context = undefined;
  }
  if (bytes > MAX_ENVELOPE_BYTES && integrations !== null) {
    const integrationsBytes = bytesOf(integrations);
    if (integrationsBytes > MAX_ENVELOPE_BYTES) {
      wrong = callFault('envelope_too_large', ENVELOPE_TOO_LARGE);
    } else if (integrationsBytes + bytesOf(context) > MAX_ENVELOPE_BYTES) {
      lost.push(lostContext('envelope_too_large', ENVELOPE_TOO_LARGE, members.context));
      context = undefined;
    }
  }
  return {
    context,
    integrations: integrations ?? undefined,
    sentAt: members.sentAt,
    writeKey: nonEmpty(members.writeKey),
    fault: wrong,
  };
}

const ENVELOPE_TOO_LARGE =
  `\`context\` and \`integrations\` of the envelope may have at most ${MAX_ENVELOPE_BYTES} ` +
  'bytes together.';

function lostContext(code: CallFaultCode, message: string, context: Json | undefined): FoundFault {
  return {
    code,
    message: `${message} Its calls were read without \`context\`.`,
    excerpt: () => excerptOfText(stringifyJson({ context })),
  };
}

/** Returns the object; undefined for absent or null, and null for other values. */
function sharedObject(value: Json | undefined): JsonObject | undefined | null {
  if (value === undefined || value === null || isEmptyArray(value)) return undefined;
  return isJsonObject(value) ? value : null;
}

/** Returns the write key that a call names. */
export function writeKeyOf(call: Json | undefined): string | undefined {
  return isJsonObject(call) ? nonEmpty(call.writeKey) : undefined;
}

function nonEmpty(key: Json | undefined): string | undefined {
  return typeof key === 'string' && key !== '' ? key : undefined;
}

function bytesOf(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(stringifyJson(value));
}

function requestFault(code: RequestFaultCode, message: string): RequestFault {
  return { code, message };
}

export function callFault(code: CallFaultCode, message: string): CallFault {
  return { code, message };
}
