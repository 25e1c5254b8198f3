/** Helpers for drafts of forms. Pure. */

export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns the fields of the second object that differ in the first. */
export function changedFields<T extends object>(before: T, after: T): Partial<T> {
  const changed = Object.entries(after).filter(
    ([name, value]) => !same(value, (before as Record<string, unknown>)[name]),
  );
  return Object.fromEntries(changed) as Partial<T>;
}

export function isWhole(text: string, least: number, most: number): boolean {
  const number = Number(text);
  return Number.isInteger(number) && least <= number && number <= most;
}

/** Returns the parts of a text that are separated by commas or blanks. */
export function partsOf(text: string): string[] {
  return text.split(/[\s,;]+/).filter((part) => part !== '');
}

/** Returns the first problem at a field, or below it: the API names the place in a list. */
export function problemAt(
  problems: ReadonlyMap<string, string>,
  field: string,
): string | undefined {
  return [...problems].find(([name]) => name === field || name.startsWith(`${field}/`))?.[1];
}
