/** The fields of an object, of which those that may be undefined are optional, and absent if so. */
export type Defined<T> = {
  [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name];
} & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/**
 * Returns a copy of the fields without those that are undefined. JSON, `Object.keys` and a spread
 * over defaults tell an absent field from an undefined one, so an optional field is left out.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const present: Partial<T> = {};
  for (const name in fields) {
    if (fields[name] !== undefined) present[name] = fields[name];
  }
  return present as unknown as Defined<T>;
}

/** Returns the elements that are not undefined, in their order. */
export function compact<T>(elements: readonly T[]): Exclude<T, undefined>[] {
  return elements.filter((element) => element !== undefined) as Exclude<T, undefined>[];
}
