import { BACKSLASH, QUOTE } from './json-bytes';
import { stringEnd } from './json-limits';

/**
 * The words, blanks and texts of JSON in which quotes may be missing or too many. Structure and
 * texts have changed places behind such a quote; this finds out where.
 */

// What a byte is outside of a text.
const WORD = 0;
const BLANK = 1;
const MARK = 2;
const KINDS = new Uint8Array(256);
// Bytes of a byte order mark are blank too: each of several envelopes may begin with one.
for (const byte of [0x00, 0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf]) KINDS[byte] = BLANK;
for (const mark of '"\\,:{}[]') KINDS[mark.charCodeAt(0)] = MARK;

/** A word that may stand beside a quote: after it only a comma is missing. */
const LITERAL = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity)$/;
const LONGEST_LITERAL = 64;

export class BrokenText {
  constructor(readonly bytes: Buffer) {}

  isBlank(at: number): boolean {
    return KINDS[this.bytes[at] ?? 0] === BLANK;
  }

  /** @returns the first byte that is not blank */
  skipBlanks(): number {
    let at = 0;
    while (at < this.bytes.length && this.isBlank(at)) at++;
    return at;
  }

  /** @returns the byte after a word */
  wordEnd(at: number): number {
    let end = at + 1;
    while (end < this.bytes.length && KINDS[this.bytes[end] ?? 0] === WORD) end++;
    return end;
  }

  /** Whether a word stands beside a quote as only a part of a text does. */
  touchesQuote(start: number, end: number, afterString: boolean): boolean {
    if (!afterString && this.bytes[end] !== QUOTE) return false;
    return (
      end - start > LONGEST_LITERAL || !LITERAL.test(this.bytes.toString('latin1', start, end))
    );
  }

  /**
   * A quote is missing or too many: the byte may stand inside a text or outside of one. Tries both,
   * and takes the way that comes to its next fault later: the wrong way fails at the next key.
   * @returns the end of the text in which the byte stands; undefined if it stands outside
   */
  endOfTextAround(at: number): number | undefined {
    const outside = this.#firstQuoteFault(at);
    const end = stringEnd(this.bytes, at);
    const inside = Math.max(end, this.#firstQuoteFault(end + 1, true));
    return inside > outside ? end : undefined;
  }

  /**
   * Returns the first place from which texts and structure seem to have changed places; else the
   * end of the text.
   */
  #firstQuoteFault(from: number, afterString = false): number {
    const { bytes } = this;
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at] ?? 0;
      if (byte === BACKSLASH) return at;
      if (byte === QUOTE) {
        at = stringEnd(bytes, at + 1) + 1;
        afterString = true;
      } else if (KINDS[byte] === WORD) {
        const end = this.wordEnd(at);
        if (this.touchesQuote(at, end, afterString)) return at;
        at = end;
        afterString = false;
      } else {
        if (KINDS[byte] === MARK) afterString = false;
        at++;
      }
    }
    return bytes.length;
  }
}
