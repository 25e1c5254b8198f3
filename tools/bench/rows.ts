import { type CpuUse } from '../harness/usage';
import { sum } from './arithmetic';

/** The figures of a part of the benchmark, as rows of the report. Pure. */

/** Returns `met`, or by how much the figure is above its goal. */
export function verdict(measured: number, goal: number): string {
  if (measured <= goal) return 'met';
  if (goal === 0) return 'missed';
  return `missed by ${String(Math.max(1, Math.round((measured / goal - 1) * 100)))} %`;
}

/** One figure of one round. */
export interface Row {
  title: string;
  unit: string;
  /** undefined or NaN: not measured */
  value: number | undefined;
  /** the most that the design allows */
  goal: number | undefined;
}

export type Column = readonly [
  title: string,
  unit: string,
  value: number | undefined,
  goal?: number | undefined,
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
