import { type CpuUse } from '../../harness/usage';
import { median, sum } from '../arithmetic';
import { type Round } from './figures';

/**
 * The means by which each case describes the rows of its figures once: title, unit, value and goal.
 * Pure.
 */

/** A goal of the design for a figure. */
export interface Goal {
  limit: number;
  /** most: the figure must not be above the limit; least: not below it */
  is: 'most' | 'least';
}

export const most = (limit: number): Goal => ({ limit, is: 'most' });
export const least = (limit: number): Goal => ({ limit, is: 'least' });

/**
 * The allowed cost of hanging endpoints for the others, as a multiple of the clean p99: a fifth
 * more, or 10 ms if that is more.
 */
export function isolationGoal(cleanP99Ms: number): Goal {
  return most(Math.max(1.2, cleanP99Ms < 50 ? 1 + 10 / cleanP99Ms : 0));
}

/** Returns `met`, or by how much the figure misses its goal. */
export function verdict(measured: number, { limit, is }: Goal): string {
  if (is === 'most' ? measured <= limit : measured >= limit) return 'met';
  if (limit === 0) return 'missed';
  const off = is === 'most' ? measured / limit - 1 : 1 - measured / limit;
  return `missed by ${String(Math.max(1, Math.round(off * 100)))} %`;
}

/** One figure of every round. */
export interface Row {
  title: string;
  unit: string;
  /** undefined: not measured in this round */
  of: (round: Round) => number | undefined;
  goal: Goal | undefined;
}

export const PER_WEBHOOK = 'CPU-µs/webhook';
export const PER_MESSAGE = 'CPU-µs/message';

/** Describes one figure of a case. */
export type Column<F> = readonly [
  title: string,
  unit: string,
  value: (figure: F, round: Round) => number | undefined,
  goal?: Goal | undefined,
];

/** @param of the figures of a case; it has no rows in a round without them */
export function rows<F>(
  title: string,
  of: (round: Round) => F | undefined,
  columns: readonly Column<F>[],
): Row[] {
  return columns.map(([more, unit, value, goal]) => {
    const valueOf = (round: Round) => {
      const figure = of(round);
      return figure === undefined ? undefined : value(figure, round);
    };
    return { title: title + more, unit, of: valueOf, goal };
  });
}

/**
 * Returns the figures of the first round that has them: they name the phases and cases that have
 * rows.
 */
export function first<F>(
  rounds: readonly Round[],
  of: (round: Round) => F | undefined,
): F | undefined {
  return rounds.map(of).find((figure) => figure !== undefined);
}

/** Returns the CPU-µs of a request of the bare loop; undefined if it was not measured. */
export function bareMicros({ bare }: Round): number | undefined {
  return bare.length > 0 ? median(bare.map(({ microsEach }) => microsEach)) : undefined;
}

/**
 * Returns the CPU-µs of these processes for each of the counted ones; undefined if one was not on
 * this machine.
 */
export function micros(
  { cpu, count }: { cpu: CpuUse; count: number },
  ...names: string[]
): number | undefined {
  return microsOf(cpu, names, count);
}

/** Returns the same for any CPU use. */
export function microsOf(cpu: CpuUse, names: readonly string[], count: number): number | undefined {
  const used = names.map((name) => cpu.byName[name]);
  return used.includes(undefined)
    ? undefined
    : (sum(used.map((seconds) => seconds ?? 0)) / count) * 1e6;
}
