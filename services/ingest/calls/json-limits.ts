import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-bytes';

/**
 * Measures the text of a body before it is parsed: its depth, and the size of each call as it was
 * sent (with spaces and escapes, which the parsed value no longer shows). One pass over the bytes,
 * about a nanosecond each, without recursion: no text can overflow the stack. Invalid JSON does not
 * make it fail; the parser reports that better.
 */

export interface Shape {
  /** containers inside one another, the outermost one included */
  depth: number;
  /** bytes of the outermost value, from its first bracket to its last */
  bytes: number;
  /** indexes of the items of `batch` that are larger than `itemBytes` */
  largeItems: ReadonlySet<number>;
  /** items of `batch`; 1 for an empty one */
  items: number;
}

const BATCH_DEPTH = 2;
/** The longest spelling of `batch`, with every letter escaped as in `\u0062`. */
const LONGEST_KEY = 5 * 6;
const NONE: ReadonlySet<number> = new Set();

export interface JsonLimits {
  depth: number;
  /** objects and arrays */
  containers: number;
  /** keys of all objects, counted by their colons (inexact for invalid JSON) */
  keys: number;
  /**
   * The first keys of a text are not compared. Of those after this number, so many may be
   * different.
   */
  newKeys: number;
  /** most bytes of an item of `batch` */
  itemBytes: number;
}

/**
 * Measures a body.
 * @returns the first limit on depth, containers or keys that it exceeds: measuring stops there, so
 *   that a refusal costs no more than that
 */
export function measureJson(text: Buffer, limits: JsonLimits): Shape | 'too_deep' | 'too_complex' {
  let depth = 0;
  let containers = 0;
  let keys = 0;
  let start = -1;
  let end = 0;
  let stringFrom = 0;
  let stringTo = 0;
  let items: Items | undefined;
  let newKeys: NewKeys | undefined;
  const shape: Shape = {
    depth: 0,
    bytes: 0,
    largeItems: NONE,
    items: 0,
  };

  for (let i = 0; i < text.length; i++) {
    switch (text[i] ?? 0) {
      case QUOTE: {
        stringFrom = i + 1;
        stringTo = stringEnd(text, stringFrom);
        i = stringTo;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (start < 0) start = i;
        if (++depth > shape.depth) shape.depth = depth;
        if (depth > limits.depth) return 'too_deep';
        if (++containers > limits.containers) return 'too_complex';
        if (depth === BATCH_DEPTH) {
          // The string before the bracket is its key. The last of two equal keys counts, as for the
          // parser.
          if (keyOf(text, stringFrom, stringTo) === 'batch') {
            items = new Items(limits.itemBytes, i + 1);
          }
        }
        break;
      case COLON:
        if (++keys > limits.keys) return 'too_complex';
        if (keys > limits.newKeys) {
          newKeys ??= new NewKeys();
          newKeys.add(text, stringFrom, stringTo);
          if (newKeys.count > limits.newKeys) return 'too_complex';
        }
        break;
      case COMMA:
        if (depth === BATCH_DEPTH) items?.end(text, i);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (depth === BATCH_DEPTH && items) {
          items.end(text, i);
          shape.largeItems = items.large;
          shape.items = items.count;
          items = undefined;
        }
        depth--;
        end = i + 1;
        break;
    }
  }
  shape.bytes = start < 0 ? 0 : end - start;
  return shape;
}

/** Returns the position of the quote that ends a string, or the end of the text. */
export function stringEnd(text: Buffer, from: number): number {
  let i = from;
  while (i < text.length) {
    const byte = text[i];
    if (byte === QUOTE) return i;
    i += byte === BACKSLASH ? 2 : 1;
  }
  return text.length;
}

function keyOf(text: Buffer, start: number, end: number): string {
  if (end - start > LONGEST_KEY) return '';
  const key = text.toString('latin1', start, end);
  return unescapedKey(key);
}

/** Letters have only this escape. */
export function unescapedKey(key: string): string {
  if (!key.includes('\\')) return key;
  return key.replace(/\\u([0-9a-fA-F]{4})/g, (_, hex: string) =>
    String.fromCharCode(parseInt(hex, 16)),
  );
}

const HASH_BITS = 32;
const SLOT_BITS = 14;
/** Chosen anew by each process, so that nobody can write keys whose hashes are equal. */
const [START = 0, FACTOR = 0] = crypto.getRandomValues(new Uint32Array(2)).map((part) => part | 1);

/**
 * Counts different keys by their hashes: a string for each would cost more than parsing. Two keys
 * that share a slot and alternate count each time, which is rare while there are few of them.
 */
class NewKeys {
  readonly #slots = new Int32Array(2 ** SLOT_BITS);
  count = 0;

  add(text: Buffer, start: number, end: number): void {
    let hash = START | 0;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ (text[i] ?? 0), FACTOR);
    const slot = hash >>> (HASH_BITS - SLOT_BITS);
    if (this.#slots[slot] === hash) return;
    this.#slots[slot] = hash;
    this.count++;
  }
}

/** Measures the items of one array, without the spaces around them. */
class Items {
  readonly large = new Set<number>();
  count = 0;

  constructor(
    private readonly maxBytes: number,
    private from: number,
  ) {}

  /** @param at the comma or bracket that ends an item */
  end(text: Buffer, at: number): void {
    // Most items are small even with their spaces, so spaces are subtracted only from large ones.
    if (at - this.from > this.maxBytes && trimmedBytes(text, this.from, at) > this.maxBytes) {
      this.large.add(this.count);
    }
    this.count++;
    this.from = at + 1;
  }
}

function trimmedBytes(text: Buffer, from: number, to: number): number {
  let start = from;
  let end = to;
  while (start < end && isSpace(text[start])) start++;
  while (end > start && isSpace(text[end - 1])) end--;
  return end - start;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
