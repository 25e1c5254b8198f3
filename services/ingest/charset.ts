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
/** The UTF-16 unit of each byte. */
const WINDOWS_1252_UNITS = Uint16Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x80 && byte < 0xa0 ? FROM_0X80.charCodeAt(byte - 0x80) : byte,
);

/**
 * Not by TextDecoder, which reads these bytes as Latin-1 in some versions of Node
 * (nodejs/node#56542).
 */
function fromWindows1252(body: Buffer): Buffer {
  const units = Buffer.alloc(body.length * 2);
  for (let i = 0; i < body.length; i++) {
    units.writeUInt16LE(WINDOWS_1252_UNITS[body[i] ?? 0] ?? 0, i * 2);
  }
  return fromUtf16(units, 'le');
}

const LONE_SURROGATE = /\p{Surrogate}/u;
/** Occurs nowhere in UTF-8. */
const NOT_UTF8 = 0xff;

function fromUtf16(body: Buffer, order: 'le' | 'be'): Buffer {
  const whole = body.subarray(0, body.length & ~1);
  const text = (order === 'le' ? whole : Buffer.from(whole).swap16()).toString('utf16le');
  const bytes = Buffer.from(text, 'utf8');
  // Half of a character makes its call unreadable, and no other.
  if (LONE_SURROGATE.test(text)) spoilHalves(text, bytes);
  return bytes;
}

/**
 * Makes each half of a character invalid, which `Buffer.from` writes as U+FFFD.
 * @param bytes the text in UTF-8
 */
function spoilHalves(text: string, bytes: Buffer): void {
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.codePointAt(i) ?? 0;
    if (code >= 0xd800 && code <= 0xdfff) bytes[at] = NOT_UTF8;
    if (code > 0xffff) i++;
    at += utf8Length(code);
  }
}

function utf8Length(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

/**
 * Leaves a body as it is if its charset is unknown, or if it is none of that charset: it may be
 * UTF-8 nevertheless.
 */
function fromOther(body: Buffer, charset: string): Buffer {
  try {
    return Buffer.from(new TextDecoder(charset, { fatal: true }).decode(body), 'utf8');
  } catch {
    return body;
  }
}
