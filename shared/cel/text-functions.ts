import { type CelFunc, celMethod, CelScalar } from '@bufbuild/cel';

/**
 * The functions of CEL that name a place in a text. They count code points, as `size` does: those
 * of the library count UTF-16 units, so that a part of a text could end within a character.
 */

const { STRING, INT } = CelScalar;

/** Most texts have no character of two units, and need no array. */
const WIDE = /[\ud800-\udfff]/;

/** Returns the units before a number of code points. @throws Error if the text has fewer */
function unitsBefore(text: string, points: bigint): number {
  const wanted = Number(points);
  const isNarrow = !WIDE.test(text);
  const size = isNarrow ? text.length : Array.from(text).length;
  if (wanted < 0 || wanted > size) {
    throw new Error(`index ${String(wanted)} out of bounds [0, ${String(size)}]`);
  }
  if (isNarrow) return wanted;
  let units = 0;
  for (let i = 0; i < wanted; i++) units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
  return units;
}

/** Returns the number of code points before a unit; -1 stays. */
function pointsBefore(text: string, units: number): bigint {
  return BigInt(units < 0 || !WIDE.test(text) ? units : Array.from(text.slice(0, units)).length);
}

function charAt(this: string, index: bigint): string {
  const point = this.codePointAt(unitsBefore(this, index));
  return point === undefined ? '' : String.fromCodePoint(point);
}

function substring(this: string, start: bigint, end?: bigint): string {
  const to = end === undefined ? this.length : unitsBefore(this, end);
  const from = unitsBefore(this, start);
  if (from > to) throw new Error('substring: start > end');
  return this.slice(from, to);
}

function indexOf(this: string, part: string, start = 0n): bigint {
  return pointsBefore(this, this.indexOf(part, unitsBefore(this, start)));
}

function lastIndexOf(this: string, part: string, start?: bigint): bigint {
  const from = start === undefined ? undefined : unitsBefore(this, start);
  return pointsBefore(this, this.lastIndexOf(part, from));
}

export const textFunctions: readonly CelFunc[] = [
  celMethod('charAt', STRING, [INT], STRING, charAt),
  celMethod('substring', STRING, [INT], STRING, substring),
  celMethod('substring', STRING, [INT, INT], STRING, substring),
  celMethod('indexOf', STRING, [STRING], INT, indexOf),
  celMethod('indexOf', STRING, [STRING, INT], INT, indexOf),
  celMethod('lastIndexOf', STRING, [STRING], INT, lastIndexOf),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, lastIndexOf),
];
