import { isUtf8 } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';

/**
 * The beginning of what was sent, for the debugger: of a call that is too large, or that cannot be
 * read.
 */

export interface Excerpt {
  text: string;
  /** more was sent */
  truncated: boolean;
}

const KEPT_BYTES = 4_096;
/** What may stand between `writeKey` and its value: no letter or digit, except of `%22`. */
const BETWEEN = String.raw`(?:%(?:25)*[\da-f]{2}|[^\p{L}\p{N}%,&{}])+`;
/** Python prints `u'key'`. */
const PREFIX = String.raw`(?:\p{L}\\*["'])?`;
const IN_QUOTES = String.raw`(?<=["'])[^\\"']+`;
const WITHOUT_QUOTES = String.raw`(?:[^\\"'&,\s{}<>%]|%(?!(?:25)*22))+`;
/** Also where JSON was written twice, and in what is no JSON, such as a form. */
const WRITE_KEY = new RegExp(
  String.raw`(?<!/)(writeKey${BETWEEN}${PREFIX})(?=[\p{L}\p{N}])(?:${IN_QUOTES}|${WITHOUT_QUOTES})`,
  'giu',
);

/**
 * @param isCut more was sent than these bytes
 * @returns the beginning of the bytes from `start` to `end`
 */
export function excerptOf(body: Buffer, start: number, end: number, isCut = false): Excerpt {
  const truncated = isCut || end - start > KEPT_BYTES;
  const bytes = body.subarray(start, Math.min(end, start + KEPT_BYTES));
  // The decoder keeps the first bytes of a character that was cut to itself.
  const text = isUtf8(bytes) ? bytes.toString('utf8') : decodedBeginning(bytes, truncated);
  return { text: withoutWriteKey(text), truncated };
}

export function excerptOfText(text: string): Excerpt {
  const truncated = text.length > KEPT_BYTES;
  return { text: withoutWriteKey(truncated ? text.slice(0, KEPT_BYTES) : text), truncated };
}

function decodedBeginning(bytes: Buffer, truncated: boolean): string {
  if (truncated) {
    const text = new StringDecoder('utf8').write(bytes);
    if (!text.includes('\ufffd')) return text;
  }
  // If a byte is not UTF-8, all bytes beyond ASCII are shown by their numbers, valid ones too.
  return bytes
    .toString('latin1')
    .replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}

function withoutWriteKey(text: string): string {
  return text.replace(WRITE_KEY, '$1');
}

/** @param key a write key that the request names, in whatever form its body does */
export function withoutKey(excerpt: Excerpt, key: string | undefined): Excerpt {
  return key === undefined ? excerpt : { ...excerpt, text: excerpt.text.replaceAll(key, '') };
}
