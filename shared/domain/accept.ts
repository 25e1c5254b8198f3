import { type Calls, isFault, isObject, readCalls, type RequestFault } from './envelope';
import { type CallType, type Json, type Message } from './message';
import { isCallFault, normalize, type Surroundings } from './normalize';
import { type RejectedCall, type RejectedRecord } from './rejected';
import { scanJson } from './scan';

/**
 * A request's body → the messages to keep and the calls to refuse. One bad call never costs its batch; what is wrong
 * with the request as a whole refuses all of it.
 */

const MAX_CALL_BYTES = 32_768;
/** Levels of objects and arrays, the body itself counted. Deeper texts overflow the stack of whoever writes them again. */
const MAX_DEPTH = 100;
/** All messages of one request, written out. An envelope is repeated in each: 500 KB could become 80 MB. */
export const MAX_MERGED_BYTES = 2 * 1024 * 1024;
/** Of a call that is too large the debugger needs the beginning only. */
const KEPT_TEXT_LENGTH = 4_096;

/** A body that can be read: its calls, and which of them are too large. */
export interface Parsed extends Calls {
  large: ReadonlySet<number>;
}

export interface Accepted {
  message: Message;
  /** the message as JSON: the value of its record */
  value: string;
}

export interface Verdicts {
  accepted: Accepted[];
  rejected: RejectedCall[];
}

/** @param kind the type of call that the path names, or `batch` */
export function parseBody(body: Buffer, kind: CallType | 'batch'): Parsed | RequestFault {
  const shape = scanJson(body, { depth: MAX_DEPTH, itemBytes: MAX_CALL_BYTES });
  if (shape.depth > MAX_DEPTH) {
    return { code: 'too_deep', message: `The body may nest ${MAX_DEPTH} levels deep.` };
  }
  let value: Json;
  try {
    value = JSON.parse(textOf(body)) as Json;
  } catch {
    return { code: 'invalid_json', message: 'The body is not valid JSON.' };
  }
  const calls = readCalls(value, kind, body.length);
  if (isFault(calls)) return calls;
  const large = kind === 'batch' ? shape.largeItems : shape.bytes > MAX_CALL_BYTES ? ONLY_CALL : NO_CALL;
  return { ...calls, large };
}

const NO_CALL: ReadonlySet<number> = new Set();
const ONLY_CALL: ReadonlySet<number> = new Set([0]);

/** JSON.parse takes no byte order mark, which some clients on Windows write. */
function textOf(body: Buffer): string {
  const bom = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  return body.toString('utf8', bom ? 3 : 0);
}

/** Decides on each call. @param now the moment of arrival, ms since 1970 */
export function accept(parsed: Parsed, now: number, makeId: () => string): Verdicts | RequestFault {
  const around: Surroundings = {
    type: parsed.type,
    context: parsed.context,
    integrations: parsed.integrations,
    sentAt: parsed.sentAt,
    receivedAtMs: now,
    receivedAt: new Date(now).toISOString(),
    makeId,
  };
  const accepted: Accepted[] = [];
  const rejected: RejectedCall[] = [];
  let bytes = 0;
  for (const [index, call] of parsed.calls.entries()) {
    if (parsed.large.has(index)) {
      rejected.push({ index, code: 'call_too_large', message: `A call may have ${MAX_CALL_BYTES} bytes.` });
      continue;
    }
    const message = normalize(call, around);
    if (isCallFault(message)) {
      rejected.push({ index, code: message.code, message: message.message });
      continue;
    }
    const value = JSON.stringify(message);
    bytes += Buffer.byteLength(value);
    if (bytes > MAX_MERGED_BYTES) {
      return {
        code: 'merged_too_large',
        message: `The calls of a request, each with the envelope's context, may have ${MAX_MERGED_BYTES} bytes together.`,
      };
    }
    accepted.push({ message, value });
  }
  return { accepted, rejected };
}

/** What the debugger is shown of a rejected call. @param at the moment of arrival, ISO 8601 */
export function rejectedRecord(fault: RejectedCall, call: Json, source: string, at: string): RejectedRecord {
  const record = { at, source, code: fault.code, message: fault.message };
  const shown = isObject(call) ? withoutKeys(call) : call;
  if (fault.code !== 'call_too_large') return { ...record, call: shown };
  return { ...record, call: JSON.stringify(shown).slice(0, KEPT_TEXT_LENGTH), truncated: true };
}

function withoutKeys(call: Record<string, Json>): Json {
  const shown = { ...call };
  delete shown.writeKey;
  delete shown._metadata;
  return shown;
}
