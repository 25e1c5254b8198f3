/** Adds up a value of each element. */
export function sumOf<T>(all: readonly T[], read: (each: T) => number): number {
  return all.reduce((total, each) => total + read(each), 0);
}
