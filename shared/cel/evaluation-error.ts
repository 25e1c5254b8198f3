import { type CelError } from '@bufbuild/cel';
import { TOO_MUCH_WORK, TooMuchWork } from './work-limit';
import { operatorOf, type TextPosition, type Tree } from './syntax';

/**
 * Why an evaluation had no result: `missing` field, `type` that an operation does not take, too
 * much `work`, or `other`.
 */
export interface Failure {
  code: 'missing' | 'type' | 'work' | 'other';
  /**
   * for the author of the expression; names positions and types, and quotes no value of the message
   */
  message: string;
  position: TextPosition;
}

/** Replacements of the library's messages, since those quote values. */
const SAID: readonly (readonly [RegExp, Failure['code'], string])[] = [
  [/^index .* out of bounds/, 'missing', 'the list is not that long'],
  [/^type mismatch: expected bool/, 'type', 'a condition is neither true nor false'],
  [/^type mismatch: iterable/, 'type', 'only lists and maps can be iterated'],
  [/^Cannot convert .* to a BigInt/s, 'type', 'the text is not a whole number'],
  [/^Failed to parse timestamp/, 'type', 'the text is not a time such as 2026-01-31T12:00:00Z'],
  [/^Failed to parse duration/, 'type', 'the text is not a duration such as 90m'],
  [/divide by zero|modulus by zero/, 'other', 'it divides by zero'],
  [/overflow/, 'other', 'a number is too large'],
];

const WORK = `${TOO_MUCH_WORK}: loops, patterns, long lists and long texts count`;

/** Says why a result has no use. Its message names types and places, and quotes no value. */
export class UnusableResult extends Error {}

/** Converts an exception during an evaluation, or during the conversion of its result. */
export function thrownFailure(error: unknown, tree: Tree): Failure {
  const position = tree.positionOf(tree.expr);
  if (error instanceof TooMuchWork) return { code: 'work', message: WORK, position };
  if (error instanceof UnusableResult) return { code: 'type', message: error.message, position };
  return { code: 'other', message: 'it cannot be evaluated', position };
}

/** Converts the library's error to words without values of the message. */
export function failureOf(error: CelError, tree: Tree): Failure {
  const position = tree.positionOf({ id: error.exprId ?? tree.expr.id });
  // `&&` and `||` of two failures keep the message of the first, and hide its cause.
  if (error.message === TOO_MUCH_WORK) return { code: 'work', message: WORK, position };
  const key = /^field not found: (.*)/s.exec(error.message)?.[1];
  if (key !== undefined) {
    return {
      code: 'missing',
      message: tree.text.includes(key) ? `there is no "${key}"` : 'there is no such key',
      position,
    };
  }
  const overload = /^found no matching overload for '(.+?)' applied to '\(?(.*?)\)?'$/s.exec(
    error.message,
  );
  if (overload) {
    return { code: 'type', message: notTaken(overload[1] ?? '', overload[2] ?? ''), position };
  }
  const said = SAID.find(([pattern]) => pattern.test(error.message));
  return said
    ? { code: said[1], message: said[2], position }
    : { code: 'other', message: 'it cannot be evaluated', position };
}

/** @param given types as the library lists them: `double, int`, or `string.(int` for a method */
function notTaken(name: string, given: string): string {
  const types = given.split(/, |\.\(/).filter((type) => type !== '');
  const message = `${operatorOf(name) ?? `${name}()`} does not take ${types.join(' and ') || 'nothing'}`;
  const mixed = ARITHMETIC.has(name) && types.includes('double') && types.includes('int');
  return mixed ? `${message}: ${DOUBLES}` : message;
}

const DOUBLES =
  'numbers of a message are doubles, write 2.0 for 2, or double(…) around a whole number ' +
  'beyond 2^53';
const ARITHMETIC = new Set(['_+_', '_-_', '_*_', '_/_', '_%_']);
