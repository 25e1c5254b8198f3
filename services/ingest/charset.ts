import { isUtf8 } from 'node:buffer';

/**
 * Turns a body into UTF-8. A byte order mark names its encoding before the request's `charset`
 * does. No character is ever replaced: what cannot be decoded stays invalid, so that the call in
 * which it stands is rejected.
 */

/** @param contentType the header of the request */
export function toUtf8(body: Buffer, contentType: string | undefined): Buffer {
  if (startsWith(body, 0xef, 0xbb, 0xbf)) return body;
  if (startsWith(body, 0xff, 0xfe)) return fromUtf16(body.subarray(2), 'le');
  if (startsWith(body, 0xfe, 0xff)) return fromUtf16(body.subarray(2), 'be');
  const charset = charsetOf(contentType);
  if (charset === undefined || UTF8.has(charset)) return body;
  if (WINDOWS_1252.has(charset)) return fromWindows1252(body);
  // JSON begins with an ASCII character: its zero byte tells the order where the name does not.
  if (charset === 'utf-16') return fromUtf16(body, body[0] === 0 ? 'be' : 'le');
  if (charset === 'utf-16le' || charset === 'utf-16be') {
    return fromUtf16(body, charset === 'utf-16le' ? 'le' : 'be');
  }
  return fromOther(body, charset);
}

function startsWith(body: Buffer, ...bytes: number[]): boolean {
  return bytes.every((byte, i) => body[i] === byte);
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s";,]{1,40})/i;

function charsetOf(contentType: string | undefined): string | undefined {
  // Most requests have none, or UTF-8.
  if (!contentType?.includes(';')) return undefined;
  return CHARSET.exec(contentType)?.[1]?.toLowerCase();
}

const UTF8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);
/**
 * Browsers read Latin-1 as Windows-1252 too, which has characters in place of control codes
 * (encoding.spec.whatwg.org).
 */
const WINDOWS_1252: ReadonlySet<string> = new Set([
  'iso-8859-1',
  'iso8859-1',
  'iso_8859-1',
  'latin1',
  'l1',
  'windows-1252',
  'cp1252',
  'x-cp1252',
]);
/** The characters of the bytes 0x80 to 0x9f. Five bytes have none, and stay control codes. */
const FROM_0X80 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/**
 * Not by TextDecoder, which reads these bytes as Latin-1 in some versions of Node
 * (nodejs/node#56542).
 */
function fromWindows1252(body: Buffer): Buffer {
  const text = body
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (byte) => FROM_0X80[byte.charCodeAt(0) - 0x80] ?? byte);
  return Buffer.from(text, 'utf8');
}

const LONE_SURROGATE = /\p{Surrogate}/u;
/** Occurs nowhere in UTF-8. */
const NOT_UTF8 = Buffer.from([0xff]);

function fromUtf16(body: Buffer, order: 'le' | 'be'): Buffer {
  const whole = body.subarray(0, body.length & ~1);
  const text = (order === 'le' ? whole : Buffer.from(whole).swap16()).toString('utf16le');
  if (!LONE_SURROGATE.test(text)) return Buffer.from(text, 'utf8');
  // Half of a character makes its call unreadable, and no other.
  const parts = text
    .split(new RegExp(LONE_SURROGATE, 'gu'))
    .map((part) => Buffer.from(part, 'utf8'));
  return Buffer.concat(parts.flatMap((part, i) => (i === 0 ? [part] : [NOT_UTF8, part])));
}

/**
 * Leaves a body as it is if its charset is unknown, or if it is none of that charset: it may be
 * UTF-8 nevertheless.
 */
function fromOther(body: Buffer, charset: string): Buffer {
  if (isUtf8(body)) return body;
  try {
    return Buffer.from(new TextDecoder(charset, { fatal: true }).decode(body), 'utf8');
  } catch {
    return body;
  }
}
