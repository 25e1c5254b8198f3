import { RE2JS } from '@bufbuild/re2';
import { charge } from './work-limit';

/**
 * Compiles patterns of `matches` with RE2, which does not backtrack: at worst, the time is the text's length times the
 * pattern's size. A pattern is a literal in the expression, so it is compiled with the expression, and never for a
 * message.
 */
const MAX_PATTERN_LENGTH = 500;
/** Counted repetitions multiply: `(a{100}){10}` is a thousand. */
const MAX_INSTRUCTIONS = 1_000;
/** Instructions times characters for one unit of work (65 ns each, at worst). */
const STEPS_PER_UNIT = 50;
/** Limit of the cached patterns. Beyond it the cache is cleared, and patterns are compiled again on demand. */
const MAX_KEPT = 1_000;

export interface Pattern {
  test(text: string): boolean;
}

const kept = new Map<string, Pattern>();

/** @throws Error that explains the problem of the pattern */
export function compilePattern(text: string): Pattern {
  const known = kept.get(text);
  if (known) return known;
  if (text.length > MAX_PATTERN_LENGTH) {
    throw new Error(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  const regex = RE2JS.compile(text);
  const size = regex.re2().prog.numInst();
  if (size > MAX_INSTRUCTIONS) throw new Error('the pattern is too large: use smaller counts in {}');
  const pattern = {
    test(value: string) {
      charge((size * value.length) / STEPS_PER_UNIT);
      return regex.test(value);
    },
  };
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, pattern);
  return pattern;
}
