/**
 * Numbers of random cases. `npm test` tries all of them; `npm run test:quick` sets QUICK and tries
 * a tenth, because it is run before every commit.
 */
export function cases(all: number): number {
  return process.env.QUICK ? Math.ceil(all / 10) : all;
}

/**
 * Splits the seeds 0 to `count` - 1 into the rows of a table of tests, so that each ends well
 * within the time-out.
 * @returns the first seed of each row, and the first seed after it
 */
export function seedRanges(count: number, size: number): [from: number, to: number][] {
  return Array.from({ length: Math.ceil(count / size) }, (_, i) => [
    i * size,
    Math.min(count, (i + 1) * size),
  ]);
}
