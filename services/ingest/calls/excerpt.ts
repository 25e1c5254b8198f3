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
/** Also where JSON was written twice, and in what is no JSON: a form, or what Python prints. */
const WRITE_KEY = /(writeKey\\*["']?\s*[:=]\s*\\*["']?)(?:(?<=["'])[^\\"']*|[^\\"'&,\s{}]+)/g;

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
