import * as fc from 'fast-check';

/**
 * Random texts of all characters of Unicode, as fast-check makes them of `unit: 'binary'`. That one
 * first lists the million characters in a table, which takes each test file 1.7 s and 130 MB.
 */

/** Between them are the halves of surrogate pairs, which are no characters. */
const FIRST_HALF = 0xd800;
const HALVES = 0x800;
const LAST = 0x10ffff;

function characterAt(index: number): string {
  return String.fromCodePoint(index < FIRST_HALF ? index : index + HALVES);
}

/** @throws Error if it is not one character: fast-check looks for texts that are often mistaken */
function indexOf(character: unknown): number {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
  const index = code !== undefined && code >= FIRST_HALF ? code - HALVES : code;
  if (index === undefined || characterAt(index) !== character) throw new Error('no character');
  return index;
}

const character = fc.nat({ max: LAST - HALVES }).map(characterAt, indexOf);

export function anyText(
  lengths: { minLength?: number; maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.string({
    ...lengths,
    unit: character,
  });
}
