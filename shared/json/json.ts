/**
 * Reads and writes the JSON of events without losing digits. A double holds neither
 * 7615917337495251231 nor 1e400, so `JSON.parse` changes them: such a number becomes an
 * `ExactNumber` here, and is written with the digits it came with. All other numbers stay numbers.
 * In everything else both functions behave as those of `JSON`, whose code does the work.
 *
 * The packages that read such numbers do not suit bodies of strangers: lossless-json 4.3 takes 60
 * ms for a text of 500 KB, where `JSON.parse` takes half of one; json-custom-numbers 3.1 lets the
 * key `__proto__` replace a prototype; json-bigint and json-with-bigint read whole numbers only.
 * `JSON.rawJSON` is missing in Node 20.
 */

/** A number that no double holds with all its digits. */
export class ExactNumber {
  /** @param digits the number as JSON writes it, such as `-12345678901234567890` or `1e400` */
  constructor(readonly digits: string) {}

  toString(): string {
    return this.digits;
  }

  /** For `JSON.stringify`, which cannot write the digits: the nearest double. */
  toJSON(): number | string {
    if (!isWriting) return Number(this.digits);
    exactNumbersWritten++;
    return TAG + this.digits;
  }
}

/**
 * Marks the text that stands for an exact number. Random, so that no text of an event can begin
 * with it.
 */
const TAG = `#${Array.from(crypto.getRandomValues(new Uint32Array(3)), (part) => part.toString(36)).join('')}:`;

/** Whether a `stringifyJson` runs; such calls do not nest. */
let isWriting = false;
/** by all calls of `stringifyJson` */
let exactNumbersWritten = 0;

/**
 * Quick tests for a text that may hold an exact number: 16 digits and points in a row, or an
 * exponent of three digits. A text that they pass over has none; most others have some. They cost a
 * tenth of parsing. The repetition is written out because V8 compares written-out characters three
 * times as fast.
 */
const LONG_NUMBER = new RegExp(`[-\\s,:[][0-9]${'[0-9.]'.repeat(15)}`);
const LARGE_EXPONENT = /[0-9][eE][-+]?[0-9]{3,}[\s,\]}]/;
const BARE_NUMBER = /^\s*-?[0-9]/;

/** A number that may be exact, or the same characters in a string. */
const MAYBE_EXACT = /-?[0-9][0-9.]{15,}(?:[eE][-+]?[0-9]+)?|-?[0-9][0-9.]*[eE][-+]?[0-9]{3,}/g;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Reads JSON. A number that a double does not hold is an `ExactNumber`.
 * @throws SyntaxError as `JSON.parse`
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!mayHoldExactNumbers(text) && !BARE_NUMBER.test(text)) return value;
  const tagged = withTags(text);
  return tagged === text ? value : withExactNumbers(JSON.parse(tagged));
}

/**
 * Whether an object or array in the text may hold an exact number. If not, `JSON.parse` reads each
 * of them as `parseJson` does.
 */
export function mayHoldExactNumbers(text: string): boolean {
  return LONG_NUMBER.test(text) || LARGE_EXPONENT.test(text);
}

/**
 * Returns valid JSON with a tagged string in place of each exact number. Strings are passed over
 * character by character: a text of 500 KB may have 250,000 of them.
 */
function withTags(text: string): string {
  let tagged = '';
  let copied = 0;
  let at = 0;
  let inString = false;
  for (const match of text.matchAll(MAYBE_EXACT)) {
    for (; at < match.index; at++) {
      const character = text.charCodeAt(at);
      if (character === QUOTE) inString = !inString;
      else if (character === BACKSLASH) at++;
    }
    const [number] = match;
    if (inString || isHeld(number)) continue;
    tagged += `${text.slice(copied, match.index)}"${TAG}${number}"`;
    copied = match.index + number.length;
  }
  return tagged + text.slice(copied);
}

/**
 * Writes JSON, exact numbers with their digits.
 * @param space as for `JSON.stringify`
 */
export function stringifyJson(value: unknown, space?: number): string {
  const writtenBefore = exactNumbersWritten;
  isWriting = true;
  try {
    const text = JSON.stringify(value, undefined, space);
    return exactNumbersWritten === writtenBefore ? text : text.replaceAll(TAGGED, '$1');
  } finally {
    isWriting = false;
  }
}

const TAGGED = new RegExp(`"${TAG}([^"]*)"`, 'g');

/** Below 2.2e-308 doubles have fewer digits. */
const LEAST_WITH_15_DIGITS = 1e-300;

/**
 * Returns whether a double holds the number with all its digits: whether JSON.stringify would write
 * the same value.
 */
function isHeld(number: string): boolean {
  const value = Number(number);
  if (!Number.isFinite(value)) return false;
  // A double holds any 15 digits, unless it is close to zero.
  const isShort = number.length <= 15 && Math.abs(value) > LEAST_WITH_15_DIGITS;
  return isShort || significantDigits(number) === significantDigits(String(value));
}

/**
 * Returns the digits between the outermost zeros. No regular expression: many are quadratic for
 * many zeros.
 */
function significantDigits(number: string): string {
  const exponentAt = number.search(/[eE]/);
  const digits = (exponentAt < 0 ? number : number.slice(0, exponentAt)).replace(/[-.]/g, '');
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start++;
  while (end > start && digits[end - 1] === '0') end--;
  return digits.slice(start, end);
}

/**
 * Replaces each tagged text in a new value. Without recursion: a text may be nested as deeply as
 * JSON.parse allows.
 */
function withExactNumbers(value: unknown): unknown {
  const whole = [value];
  const containers: unknown[] = [whole];
  for (let container = containers.pop(); container !== undefined; container = containers.pop()) {
    const items = container as Record<string | number, unknown>;
    const keys = Array.isArray(container) ? container.keys() : Object.keys(items);
    for (const key of keys) {
      const item = items[key];
      if (typeof item === 'string') {
        if (item.startsWith(TAG)) items[key] = new ExactNumber(item.slice(TAG.length));
      } else if (typeof item === 'object' && item !== null) {
        containers.push(item);
      }
    }
  }
  return whole[0];
}
