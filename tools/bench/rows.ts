import { type CpuUse } from '../harness/usage';
import { sum } from './arithmetic';

/** The figures of a part of the benchmark, as rows of the report. Pure. */

/** A goal of the design for a figure. */
export interface Goal {
  limit: number;
  /** most: the figure must not be above the limit; least: not below it */
  is: 'most' | 'least';
}

export const most = (limit: number): Goal => ({ limit, is: 'most' });
export const least = (limit: number): Goal => ({ limit, is: 'least' });

/** Returns `met`, or by how much the figure misses its goal. */
export function verdict(measured: number, { limit, is }: Goal): string {
  if (is === 'most' ? measured <= limit : measured >= limit) return 'met';
  if (limit === 0) return 'missed';
  const off = is === 'most' ? measured / limit - 1 : 1 - measured / limit;
  return `missed by ${String(Math.max(1, Math.round(off * 100)))} %`;
}

/** One figure of one round. */
export interface Row {
  title: string;
  unit: string;
  /** undefined or NaN: not measured */
  value: number | undefined;
  goal: Goal | undefined;
}

export type Column = readonly [
  title: string,
  unit: string,
  value: number | undefined,
  goal?: Goal | undefined,
];

/** @param title the beginning of the title of each row */
export function rows(title: string, columns: readonly Column[]): Row[] {
  return columns.map(([more, unit, value, goal]) => ({ title: title + more, unit, value, goal }));
}

export const PER_WEBHOOK = 'CPU-µs/webhook';
export const PER_MESSAGE = 'CPU-µs/message';

/**
 * Returns the CPU-µs of these processes for each of the counted ones; undefined if one was not on
 * this machine.
 */
export function micros(
  { cpu, count }: { cpu: CpuUse; count: number },
  ...names: string[]
): number | undefined {
  const used = names.map((name) => cpu.byName[name]);
  return used.includes(undefined)
    ? undefined
    : (sum(used.map((seconds) => seconds ?? 0)) / count) * 1e6;
}
