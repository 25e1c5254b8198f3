import { stringifyJson } from '../../../shared/json/json';
import {
  type CallType,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../../../shared/model/message';

/**
 * Splits a request's body into its calls and their shared parts. A fault found here concerns the
 * whole request: none of it is accepted, and the sender gets a 400.
 */

/** Stable codes of faults of a whole request, each answered with 400. */
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
  /** number of calls in the refused request, if it was read far enough */
  callCount?: number;
}

export interface Calls {
  /** As sent, not validated. */
  calls: readonly Json[];
  /** the type from the path, which wins over the call's own; undefined for a batch */
  type: CallType | undefined;
  context: JsonObject | undefined;
  integrations: JsonObject | undefined;
  sentAt: Json | undefined;
  /** from the envelope or the single call, else from the first item */
  writeKey: string | undefined;
}

export const MAX_CALLS = 2_500;
/**
 * Limit of the envelope's `context` and `integrations` together, since each of up to 2,500 calls
 * repeats them.
 */
export const MAX_ENVELOPE_BYTES = 32_768;

/**
 * Reads a parsed body.
 * @param kind the path's type of call, or `batch`
 * @param bodyBytes size of the body; the parts of a small one need not be measured
 */
export function readCalls(
  body: Json,
  kind: CallType | 'batch',
  bodyBytes: number,
): Calls | RequestFault {
  if (!isJsonObject(body)) return fault('invalid_body', 'The body must be a JSON object.');
  return kind === 'batch' ? readBatch(body, bodyBytes) : readSingle(body, kind);
}

export function isFault(result: object): result is RequestFault {
  return 'code' in result;
}

export { isJsonObject as isObject };

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
  // Go v2.0.0 sends a null batch when it is closed with nothing to send. A body without `batch` is
  // a mistake, and a 200 would lose the sender's data.
  if (!Object.hasOwn(body, 'batch')) return fault('missing_batch', 'The body has no `batch`.');
  const calls = body.batch ?? [];
  if (!Array.isArray(calls)) return fault('invalid_batch', '`batch` must be an array of calls.');
  if (calls.length > MAX_CALLS) {
    return fault(
      'too_many_calls',
      `A request may have at most ${MAX_CALLS} calls; this one has ${calls.length}.`,
    );
  }
  const context = sharedObject(body.context);
  const integrations = sharedObject(body.integrations);
  if (context === null) return fault('invalid_envelope', '`context` must be an object.');
  if (integrations === null) return fault('invalid_envelope', '`integrations` must be an object.');
  if (
    bodyBytes > MAX_ENVELOPE_BYTES &&
    bytesOf(context) + bytesOf(integrations) > MAX_ENVELOPE_BYTES
  ) {
    return fault(
      'envelope_too_large',
      `\`context\` and \`integrations\` of the envelope may have at most ` +
        `${MAX_ENVELOPE_BYTES} bytes together.`,
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

/** Returns the object; undefined for absent or null, and null for other values. */
function sharedObject(value: Json | undefined): JsonObject | undefined | null {
  if (value === undefined || value === null || isEmptyArray(value)) return undefined;
  return isJsonObject(value) ? value : null;
}

function keyOf(value: Json | undefined): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const key = value.writeKey;
  return typeof key === 'string' && key !== '' ? key : undefined;
}

function bytesOf(value: JsonObject | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(stringifyJson(value));
}

function fault(code: RequestFaultCode, message: string): RequestFault {
  return { code, message };
}
