import { isAscii, isUtf8 } from 'node:buffer';
import { mayHoldExactNumbers, parseJson } from '../../../shared/json/json';
import { type CallType, type Json } from '../../../shared/model/message';
import { excerptOf } from './excerpt';
import { type FoundCall, type LostPiece } from './call-pieces';
import { findCalls } from './find-calls';
import { type EnvelopeParts, type Range } from './found-item';
import { OPEN_BRACE } from './json-bytes';
import { type JsonLimits, measureJson } from './json-limits';
import {
  callFault,
  type Envelope,
  type FoundFault,
  MAX_CALLS,
  MOST_LISTED,
  type ParsedRequest,
  readCalls,
  readEnvelope,
  type RequestFault,
  type Run,
  tooMany,
  writeKeyOf,
} from './parse-batch';
import { type Steps } from './steps';
import { withNulls } from './with-nulls';

/**
 * Reads a body that cannot be read as one JSON value, or would cost too much: each call by itself,
 * so that a fault of one is its own.
 */

/** The object of the envelope, and its array. */
const ENVELOPE_LEVELS = 2;
/**
 * An error of the parser costs as much as reading a hundred bytes. The calls behind so many that
 * cannot be parsed are not tried.
 */
const MOST_UNREADABLE = 1_000;
/** In place of a `sentAt` that cannot be read: any value that is no time. */
const NO_TIME: Json = false;

/**
 * Reads the calls of a batch one by one.
 * @param why the fault of the body as a whole, returned if no call can be read
 */
export function* readBrokenBatch(
  body: Buffer,
  why: RequestFault,
  limits: JsonLimits,
): Steps<ParsedRequest | RequestFault> {
  const found = yield* findCalls(body, MOST_LISTED + 1);
  const reader = new PieceReader(body, limits);
  const calls: Json[] = [];
  const runs: Run[] = [];
  const faults = new Map<number, FoundFault>();
  const envelopes = new Map<EnvelopeParts, Envelope>();
  const lost: FoundFault[] = [];
  let writeKey: string | undefined;
  let readable = 0;
  for (const piece of found.pieces.slice(0, MOST_LISTED)) {
    const index = calls.length;
    const value = index < MAX_CALLS ? reader.call(piece) : tooMany(1);
    calls.push(isReadFault(value) ? null : value.call);
    if (isReadFault(value)) {
      faults.set(index, value);
      if (value.code === 'call_too_large') readable++;
    } else {
      readable++;
    }
    if (!('parts' in piece)) continue;
    let envelope = envelopes.get(piece.parts);
    if (!envelope) {
      envelope = reader.envelope(piece.parts, lost);
      envelopes.set(piece.parts, envelope);
      writeKey ??= envelope.writeKey;
    }
    if (runs.at(-1)?.envelope !== envelope) runs.push({ from: index, envelope });
    yield;
  }
  const further = Math.max(0, found.pieces.length - MOST_LISTED) + found.beyond.count;
  const callCount = calls.length + further;
  if (readable === 0) return { ...why, callCount: Math.max(1, callCount) };
  for (const [index, { range }] of found.pieces.entries()) {
    const fault = faults.get(index);
    if (!fault) continue;
    faults.set(index, { ...fault, excerpt: () => excerptOf(body, ...range) });
    yield;
  }
  if (further > 0) {
    const start = found.pieces[MOST_LISTED]?.range[0] ?? found.beyond.start;
    const excerpt = () => excerptOf(body, start, body.length);
    faults.set(calls.length, { ...tooMany(further), excerpt });
    calls.push(null);
  }
  // Nothing was wrong but its size: it is read as if it had been parsed whole.
  const isWhole = why.code === 'too_complex' && faults.size === 0 && envelopes.size === 1;
  // Pieces that are no calls belong to the run before them, and to the first one.
  if (runs[0]) runs[0].from = 0;
  return {
    calls,
    runs,
    callCount,
    type: undefined,
    writeKey: writeKey ?? calls.map(writeKeyOf).find((key) => key !== undefined),
    faults,
    lost,
    isBroken: !isWhole,
  };
}

/**
 * Reads a single call around which there are blanks, NULs or commas, or in which `NaN` stands for a
 * missing value.
 */
export function readBrokenCall(
  text: string,
  type: CallType,
  bodyBytes: number,
): ParsedRequest | undefined {
  const repaired = withNulls(trimmed(text));
  if (repaired === text) return undefined;
  try {
    const read = readCalls(parseJson(repaired) as Json, type, bodyBytes);
    return 'code' in read ? undefined : read;
  } catch {
    return undefined;
  }
}

function isReadFault(value: { call: Json } | FoundFault): value is FoundFault {
  return 'code' in value;
}

class PieceReader {
  readonly #isUtf8: boolean;
  /**
   * The body, if each byte is a character: to decode each small call costs as much as parsing it.
   */
  readonly #ascii: string | undefined;
  /** The body holds what `withNulls` looks for, which costs as much as parsing a small call. */
  readonly #mayHoldNoNumbers: boolean;
  /**
   * Chosen once for the body: to look for exact numbers in each small call would cost as much as
   * parsing it.
   */
  readonly #parse: (text: string) => unknown;
  #unreadable = 0;
  /** of the calls that were parsed */
  #containers = 0;
  #keys = 0;

  constructor(
    private readonly body: Buffer,
    private readonly limits: JsonLimits,
  ) {
    const latin1 = body.toString('latin1');
    this.#isUtf8 = isUtf8(body);
    this.#ascii = isAscii(body) ? latin1 : undefined;
    this.#mayHoldNoNumbers = latin1.includes('NaN') || latin1.includes('Infinity');
    this.#parse = mayHoldExactNumbers(latin1) ? parseJson : JSON.parse;
  }

  call(piece: FoundCall | LostPiece): { call: Json } | FoundFault {
    if (!('parts' in piece)) {
      return callFault('unreadable', 'This part of the body cannot be read as a call.');
    }
    const { depth, itemBytes, containers, keys } = this.limits;
    const [start, end] = piece.range;
    if (this.body[start] !== OPEN_BRACE) {
      return this.#isText(piece.range)
        ? callFault('invalid_call', 'A call must be a JSON object.')
        : INVALID_ENCODING;
    }
    if (end - start > itemBytes) {
      return callFault('call_too_large', `A call may have at most ${itemBytes} bytes.`);
    }
    if (piece.depth + ENVELOPE_LEVELS > depth) {
      return callFault('too_deep', `A body may be nested at most ${depth} levels deep.`);
    }
    if (this.#containers + piece.containers > containers || this.#keys + piece.keys > keys) {
      return callFault(
        'too_complex',
        `A body may have at most ${containers} objects and arrays and ${keys} keys.`,
      );
    }
    if (this.#unreadable === MOST_UNREADABLE) {
      return callFault(
        'unreadable',
        `The call was not read: ${MOST_UNREADABLE} calls before it are not valid JSON.`,
      );
    }
    if (!this.#isText(piece.range)) return INVALID_ENCODING;
    const call = this.#parsed(this.#textOf(piece.range));
    if (call === undefined) {
      this.#unreadable++;
      return callFault('unreadable', 'The call is not valid JSON.');
    }
    this.#containers += piece.containers;
    this.#keys += piece.keys;
    return call;
  }

  /** @param lost receives what cannot be read of the envelope */
  envelope(parts: EnvelopeParts, lost: FoundFault[]): Envelope {
    const members: Partial<Record<keyof EnvelopeParts, Json>> = {};
    const unreadable = new Set<keyof EnvelopeParts>();
    let bytes = 0;
    for (const [name, range] of Object.entries(parts) as [keyof EnvelopeParts, Range][]) {
      bytes += range[1] - range[0];
      const value = this.#part(range);
      if (value === undefined) unreadable.add(name);
      else members[name] = value.call;
    }
    if (unreadable.has('sentAt')) members.sentAt = NO_TIME;
    const lostBefore = lost.length;
    const envelope = readEnvelope(members, bytes, lost);
    if (unreadable.has('integrations')) {
      envelope.fault = callFault(
        'invalid_envelope',
        '`integrations` of the envelope cannot be read.',
      );
    }
    if (unreadable.has('context')) {
      lost.push(
        callFault(
          'invalid_envelope',
          '`context` of the envelope cannot be read. Its calls were read without `context`.',
        ),
      );
    }
    const { context } = parts;
    if (context && lost.length > lostBefore) {
      const excerpt = () => excerptOf(this.body, ...context);
      for (const each of lost.slice(lostBefore)) each.excerpt = excerpt;
    }
    return envelope;
  }

  #part(range: Range): { call: Json } | undefined {
    if (!this.#isSimple(range) || !this.#isText(range)) return undefined;
    return this.#parsed(trimmed(this.#textOf(range)));
  }

  #isSimple([start, end]: Range): boolean {
    const { depth } = this.limits;
    // Too short to break a limit. To measure it would cost more than to parse it, and there may be
    // thousands.
    if (end - start < depth) return true;
    const shape = measureJson(this.body.subarray(start, end), this.limits);
    return typeof shape === 'object' && shape.depth < depth;
  }

  #isText([start, end]: Range): boolean {
    return this.#isUtf8 || isUtf8(this.body.subarray(start, end));
  }

  #textOf([start, end]: Range): string {
    return this.#ascii?.slice(start, end) ?? this.body.toString('utf8', start, end);
  }

  /** @returns undefined if the text is no JSON */
  #parsed(text: string): { call: Json } | undefined {
    const { stackTraceLimit } = Error;
    try {
      // The stack of an error costs more than parsing a call, and 2,500 of them can fail.
      Error.stackTraceLimit = 0;
      return { call: this.#parse(this.#mayHoldNoNumbers ? withNulls(text) : text) as Json };
    } catch {
      return undefined;
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }
}

const INVALID_ENCODING = callFault(
  'invalid_encoding',
  'The call has bytes that are not UTF-8. Name the charset in Content-Type.',
);

/** Removes what may stand around a value: blanks, NULs, commas, and a byte order mark. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && AROUND.has(text[start] ?? '')) start++;
  while (end > start && AROUND.has(text[end - 1] ?? '')) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

const AROUND: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r', '\0', ',', '\ufeff']);
