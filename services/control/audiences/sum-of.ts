/** What is read of each, taken together. */
export function sumOf<T>(all: readonly T[], read: (each: T) => number): number {
  return all.reduce((total, each) => total + read(each), 0);
}
