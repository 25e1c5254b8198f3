import { randomInt } from 'node:crypto';

/**
 * Numbers of random cases. `npm test` tries all of them; `npm run test:quick` sets QUICK and tries
 * a tenth, because it is run before every commit.
 */
export function cases(all: number): number {
  return process.env.QUICK ? Math.ceil(all / 10) : all;
}

/**
 * Numbers of random cases of a check that computes for long. `npm test` tries a tenth of them,
 * others in each run; `CASES=all` tries all of them, as a workflow does each night.
 */
export function fewerCases(all: number): number {
  return process.env.CASES === 'all' ? all : Math.ceil(cases(all) / 10);
}

/** Returns the seed in an environment variable, which repeats a run, or else a new one. */
export function seedOf(variable: string): number {
  return Number(process.env[variable] ?? randomInt(2 ** 31));
}

/**
 * Splits `count` seeds into the rows of a table of tests, so that each ends well within the
 * time-out.
 * @param first the first of all seeds
 * @returns the first seed of each row, and the first seed after it
 */
export function seedRanges(count: number, size: number, first = 0): [from: number, to: number][] {
  return Array.from({ length: Math.ceil(count / size) }, (_, i) => [
    first + i * size,
    first + Math.min(count, (i + 1) * size),
  ]);
}
