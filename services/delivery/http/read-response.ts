import { type IncomingHttpHeaders } from 'node:http';
import { type Oddity } from '../../../shared/model/oddities';

/**
 * Reads the first bytes of a response that undici could not read to its end. It is tolerant behind
 * the status line, since a status that has arrived decides, and strict before it: only empty lines
 * and whole interim responses may come before it, so that a status anywhere else counts for
 * nothing. Pure.
 */

/** Of a head, with all that comes before it. More than real ones have: 20 KB were seen. */
export const MOST_HEAD_BYTES = 32 * 1024;
/** Lines of a head. Real ones have fewer than a hundred, and each costs the parsers time. */
export const MOST_HEAD_LINES = 128;
/**
 * Reads of the socket that a head may take, however small, and a body again. A read costs the event
 * loop as much as a small response, and a head is looked at again with each.
 */
const FREE_READS = 32;
/** A further read must bring so many bytes, on average: the packets of a long body hold more. */
const BYTES_PER_READ = 512;

/** Returns whether the reads of a head or of a body bring too few bytes. */
export function isTrickle(reads: number, bytes: number): boolean {
  return reads > FREE_READS + bytes / BYTES_PER_READ;
}

/** More than any server sends before its answer. */
const MOST_INTERIM = 8;
/** Lines of one interim response: its bytes are looked at again with each read of the socket. */
const MOST_INTERIM_LINES = 64;
const MOST_EMPTY_BYTES = 64;

export type Reading =
  | {
      kind: 'answered';
      status: number;
      /** as far as they arrived and could be read; names in lower case */
      headers: IncomingHttpHeaders;
      /** as far as it arrived in the bytes */
      body: Buffer;
      /** the body is there to its end */
      isWhole: boolean;
      oddities: Oddity[];
    }
  /** the bytes end before the final status */
  | { kind: 'unfinished' }
  /** no final status can follow; `why` ends a sentence, and repeats no more than one byte */
  | { kind: 'unreadable'; why: string };

const LF = 0x0a;
const CR = 0x0d;

/** A status line up to the end of its status. A reason, also an endless one, may follow. */
const STATUS = /^HTTP\/\d(?:\.\d)? +(\d{3})[ \r\n]/;
/** Longer than the beginning of any status line that `STATUS` accepts. */
const STATUS_BYTES = 32;

/** The place of the final status line behind empty lines and interim responses. */
export type StatusLine =
  | { kind: 'found'; at: number; status: number; hadContinue: boolean }
  | Exclude<Reading, { kind: 'answered' }>;

/** @param bytes of the response, from its beginning */
export function readResponse(bytes: Buffer): Reading {
  const line = findStatusLine(bytes);
  return line.kind === 'found' ? readAnswer(bytes, line) : line;
}

/** @param bytes of the response, from its beginning */
export function findStatusLine(bytes: Buffer): StatusLine {
  let at = 0;
  let hadContinue = false;
  for (let interim = 0; interim <= MOST_INTERIM; interim++) {
    at = afterEmptyLines(bytes, at);
    const status = statusAt(bytes, at);
    if (typeof status !== 'number') return status;
    if (status < 100) {
      return { kind: 'unreadable', why: `${threeDigits(status)} is no status of HTTP` };
    }
    if (status === 101) {
      return { kind: 'unreadable', why: 'the endpoint switched to another protocol (101)' };
    }
    if (status >= 200) return { kind: 'found', at, status, hadContinue };
    if (status === 100) hadContinue = true;
    const { end, lines } = endOfHead(bytes, at, MOST_INTERIM_LINES);
    if (end === undefined) {
      if (lines > MOST_INTERIM_LINES) return TOO_LONG_INTERIM;
      return interim < MOST_INTERIM ? { kind: 'unfinished' } : TOO_MANY_INTERIM;
    }
    at = end;
  }
  return TOO_MANY_INTERIM;
}

const TOO_MANY_INTERIM: StatusLine = {
  kind: 'unreadable',
  why: `the endpoint sent more than ${String(MOST_INTERIM)} interim responses before its answer`,
};

const TOO_LONG_INTERIM: StatusLine = {
  kind: 'unreadable',
  why: `the endpoint sent an interim response of more than ${String(MOST_INTERIM_LINES)} lines`,
};

function afterEmptyLines(bytes: Buffer, from: number): number {
  let at = from;
  while (at < from + MOST_EMPTY_BYTES && (bytes[at] === CR || bytes[at] === LF)) at++;
  return at;
}

function statusAt(bytes: Buffer, at: number): number | Exclude<StatusLine, { kind: 'found' }> {
  const text = bytes.toString('latin1', at, at + STATUS_BYTES);
  const status = STATUS.exec(text)?.[1];
  if (status !== undefined) return Number(status);
  const place = firstFault(text);
  if (place === undefined) return { kind: 'unfinished' };
  return { kind: 'unreadable', why: faultIn(bytes, at, place) };
}

/** The beginnings of a status line, each longer by one part. */
const PARTS = [
  /^H$/,
  /^HT$/,
  /^HTT$/,
  /^HTTP$/,
  /^HTTP\/\d?$/,
  /^HTTP\/\d\.?$/,
  /^HTTP\/\d(?:\.\d)? *\d{0,3}$/,
];

/**
 * Returns the place of the first byte that cannot belong to a status line; undefined if it is only
 * cut off.
 */
function firstFault(text: string): number | undefined {
  for (let length = 1; length <= text.length; length++) {
    const start = text.slice(0, length);
    if (!PARTS.some((part) => part.test(start))) return length - 1;
  }
  // Blanks without end do not begin a status line.
  return text.length < STATUS_BYTES ? undefined : STATUS_BYTES - 1;
}

/** TLS: a record of an alert or a handshake, of any version. */
// eslint-disable-next-line no-control-regex -- TLS is binary
const TLS_RECORD = /^[\x15\x16]\x03[\x00-\x04]/;
/** HTTP/2 begins with a frame of settings, whose length is small, or with GOAWAY. */
// eslint-disable-next-line no-control-regex -- HTTP/2 is binary
const HTTP2_FRAME = /^\x00\x00[\x00-\xff][\x04\x07][\x00\x01]\x00\x00\x00\x00/;

function faultIn(bytes: Buffer, at: number, place: number): string {
  const text = bytes.toString('latin1', at, at + STATUS_BYTES);
  if (HTTP2_FRAME.test(text)) return 'the endpoint speaks HTTP/2 only, and Waypost HTTP/1.1';
  if (TLS_RECORD.test(text)) return 'the endpoint speaks TLS here: its URL begins with https://';
  const byte = (bytes[at + place] ?? 0).toString(16).padStart(2, '0');
  return (
    `byte ${String(at + place + 1)} of the response (0x${byte}) does not belong to a status ` +
    'line of HTTP/1.1'
  );
}

/**
 * Finds the end of a head.
 * @returns the place behind its empty line, undefined if that has not arrived or comes later than
 *   `most` lines; and the number of lines that were seen
 */
export function endOfHead(
  bytes: Buffer,
  from: number,
  most = Infinity,
): { end: number | undefined; lines: number } {
  let line = from;
  let lines = 0;
  for (; lines <= most; lines++) {
    const end = bytes.indexOf(LF, line);
    if (end < 0) break;
    const length = end - line - (bytes[end - 1] === CR ? 1 : 0);
    if (length <= 0 && line > from) return { end: end + 1, lines };
    line = end + 1;
  }
  return { end: undefined, lines };
}

function readAnswer(
  bytes: Buffer,
  { at, status, hadContinue }: StatusLine & { kind: 'found' },
): Reading {
  const { end } = endOfHead(bytes, at, MOST_HEAD_LINES);
  const oddities = new Set<Oddity>();
  if (hadContinue) oddities.add('interim');
  const head = bytes.toString('latin1', at, end ?? bytes.length);
  const headers = readHeaders(head, end !== undefined, oddities);
  const { body, isWhole } = readBody(bytes, end, { status, headers, oddities });
  return { kind: 'answered', status, headers, body, isWhole, oddities: [...oddities] };
}

/** RFC 9110 section 5.6.2 */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// eslint-disable-next-line no-control-regex -- this looks for control characters
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/;

type Headers = Record<string, string | string[]>;

/**
 * @param isWhole the head ends with its empty line; otherwise its last line may be cut off, and is
 *   left out
 */
function readHeaders(head: string, isWhole: boolean, oddities: Set<Oddity>): Headers {
  const all = head.split('\n', MOST_HEAD_LINES + 2);
  const [statusLine = '', ...lines] = all.slice(0, isWhole ? -2 : -1);
  if (statusLine !== '' && !isLine(statusLine)) oddities.add('header_syntax');
  if (isWhole && !head.endsWith('\r\n\r\n')) oddities.add('header_syntax');
  const headers = Object.create(null) as Headers;
  let values: string[] | undefined;
  for (const line of lines) {
    if (!isLine(line)) oddities.add('header_syntax');
    if (values && /^[ \t]/.test(line)) {
      // A folded line continues the value before it.
      oddities.add('header_syntax');
      values.push(`${values.pop() ?? ''} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (!NAME.test(name)) {
      oddities.add('header_syntax');
      values = undefined;
      continue;
    }
    if (name.length !== colon) oddities.add('header_syntax');
    const known = headers[name];
    values = Array.isArray(known) ? known : [];
    values.push(line.slice(colon + 1).trim());
    headers[name] = values;
  }
  for (const [name, [value = '', ...others]] of Object.entries(headers)) {
    if (others.length === 0) headers[name] = value;
    else if (name === 'content-length') oddities.add('content_length');
  }
  return headers;
}

/** Returns whether a line ends and reads as HTTP wants it. @param line without its line feed */
function isLine(line: string): boolean {
  return line.endsWith('\r') && !CONTROL.test(line.slice(0, -1));
}

interface ResponseHead {
  status: number;
  headers: Headers;
  oddities: Set<Oddity>;
}

/** @param at the place of the body; undefined if the headers have not arrived to their end */
function readBody(
  bytes: Buffer,
  at: number | undefined,
  head: ResponseHead,
): { body: Buffer; isWhole: boolean } {
  if (at === undefined) return { body: Buffer.alloc(0), isWhole: false };
  const rest = bytes.subarray(at);
  const { status, headers, oddities } = head;
  const text = headers['content-length']?.toString();
  const length = lengthOf(text);
  if (text !== undefined && (length === undefined || text.includes(','))) {
    oddities.add('content_length');
  }
  const isChunked = /\bchunked\s*$/i.test(headers['transfer-encoding']?.toString() ?? '');
  if (isChunked && text !== undefined) oddities.add('content_length');
  if (status === 204 || status === 304) {
    if (rest.length > 0) oddities.add(text === undefined ? 'extra_bytes' : 'content_length');
    return { body: Buffer.alloc(0), isWhole: true };
  }
  if (isChunked) return readChunks(rest, oddities);
  if (length === undefined) return { body: rest, isWhole: false };
  if (rest.length > length) oddities.add('extra_bytes');
  return { body: rest.subarray(0, length), isWhole: rest.length >= length };
}

/** Returns a length that is unambiguous: `12`, or `12, 12`. */
function lengthOf(text: string | undefined): number | undefined {
  const [first, ...others] = (text ?? '').split(',').map((part) => part.trim());
  if (first === undefined || !/^\d{1,15}$/.test(first)) return undefined;
  return others.every((other) => other === first) ? Number(first) : undefined;
}

function readChunks(bytes: Buffer, oddities: Set<Oddity>): { body: Buffer; isWhole: boolean } {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = bytes.indexOf(LF, at);
    if (end < 0) return { body: Buffer.concat(chunks), isWhole: false };
    const size = /^ *([0-9a-f]{1,8}) *(?:[;\r]|$)/i.exec(bytes.toString('latin1', at, end))?.[1];
    if (size === undefined) {
      oddities.add('chunk_syntax');
      return { body: Buffer.concat(chunks), isWhole: false };
    }
    const length = parseInt(size, 16);
    if (length === 0) return { body: Buffer.concat(chunks), isWhole: true };
    chunks.push(bytes.subarray(end + 1, end + 1 + length));
    if (end + 1 + length >= bytes.length) return { body: Buffer.concat(chunks), isWhole: false };
    at = end + 1 + length;
    if (bytes[at] === CR) at++;
    if (bytes[at] === LF) at++;
  }
}

function threeDigits(status: number): string {
  return String(status).padStart(3, '0');
}
