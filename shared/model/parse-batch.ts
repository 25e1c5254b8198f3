import { type CallType, type Json, type JsonObject } from './message';

/**
 * A request's body as calls and what they share. What is wrong here is wrong with the request as a whole: none of it is
 * accepted, and the sender is told 400.
 */

/** Stable codes of a request's own faults, each answered with 400. */
type RequestFaultCode =
  | 'invalid_json'
  | 'invalid_body'
  | 'missing_batch'
  | 'invalid_batch'
  | 'invalid_envelope'
  | 'too_many_calls'
  | 'envelope_too_large'
  | 'merged_too_large'
  | 'too_deep'
  | 'too_complex';

export interface RequestFault {
  code: RequestFaultCode;
  message: string;
  /** calls that the refused request holds, where it was read far enough to say so */
  callCount?: number;
}

export interface Calls {
  /** As sent; anything may stand among them. */
  calls: readonly Json[];
  /** the path's, which wins over the call's own; undefined for a batch */
  type: CallType | undefined;
  context: JsonObject | undefined;
  integrations: JsonObject | undefined;
  sentAt: Json | undefined;
  /** from the envelope or the single call, else from the first item */
  writeKey: string | undefined;
}

export const MAX_CALLS = 2_500;
/** `context` and `integrations` of the envelope together: they are repeated in each of up to 2,500 calls. */
export const MAX_ENVELOPE_BYTES = 32_768;

/**
 * Reads a parsed body.
 * @param kind the path's type of call, or `batch`
 * @param bodyBytes size of the body; a small one needs no measuring of its parts
 */
export function readCalls(body: Json, kind: CallType | 'batch', bodyBytes: number): Calls | RequestFault {
  if (!isObject(body)) return fault('invalid_body', 'The body must be a JSON object.');
  return kind === 'batch' ? readBatch(body, bodyBytes) : readSingle(body, kind);
}

export function isFault(result: object): result is RequestFault {
  return 'code' in result;
}

/** A JSON object: no array, no null. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** PHP writes an empty map as `[]`. */
export function isEmptyArray(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}

function readSingle(call: JsonObject, type: CallType): Calls {
  return {
    calls: [call],
    type,
    context: undefined,
    integrations: undefined,
    sentAt: undefined,
    writeKey: keyOf(call),
  };
}

function readBatch(body: JsonObject, bodyBytes: number): Calls | RequestFault {
  // A null batch is what Go v2.0.0 sends when it is closed with nothing to say. A body without one is a mistake, and
  // to answer 200 would lose what was meant.
  if (!Object.hasOwn(body, 'batch')) return fault('missing_batch', 'The body has no `batch`.');
  const calls = body.batch ?? [];
  if (!Array.isArray(calls)) return fault('invalid_batch', '`batch` must be an array of calls.');
  if (calls.length > MAX_CALLS) {
    return fault('too_many_calls', `A request may have at most ${MAX_CALLS} calls; this one has ${calls.length}.`);
  }
  const context = sharedObject(body.context);
  const integrations = sharedObject(body.integrations);
  if (context === null) return fault('invalid_envelope', '`context` must be an object.');
  if (integrations === null) return fault('invalid_envelope', '`integrations` must be an object.');
  if (bodyBytes > MAX_ENVELOPE_BYTES && bytesOf(context) + bytesOf(integrations) > MAX_ENVELOPE_BYTES) {
    return fault(
      'envelope_too_large',
      `\`context\` and \`integrations\` of the envelope may have at most ${MAX_ENVELOPE_BYTES} bytes together.`,
    );
  }
  return {
    calls,
    type: undefined,
    context,
    integrations,
    sentAt: body.sentAt,
    writeKey: keyOf(body) ?? keyOf(calls[0]),
  };
}

/** Absent and null are undefined; null stands for what is no object. */
function sharedObject(value: Json | undefined): JsonObject | undefined | null {
  if (value === undefined || value === null || isEmptyArray(value)) return undefined;
  return isObject(value) ? value : null;
}

function keyOf(value: Json | undefined): string | undefined {
  if (!isObject(value)) return undefined;
  const key = value.writeKey;
  return typeof key === 'string' && key !== '' ? key : undefined;
}

function bytesOf(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
}

function fault(code: RequestFaultCode, message: string): RequestFault {
  return { code, message };
}
