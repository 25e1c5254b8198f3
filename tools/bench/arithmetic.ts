/** Computes medians, percentiles and ratios. Pure. */

/** Returns the middle value; of an even number, the mean of the two middle values. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? NaN;
  return (lower + upper) / 2;
}

/**
 * Returns the smallest value that is not below `share` (0 to 1) of all: the nearest rank, so that
 * it is a measured value.
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

/** Times between two events. */
export interface Times {
  count: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

export function timesOf(allMs: readonly number[]): Times {
  return {
    count: allMs.length,
    p50Ms: percentile(allMs, 0.5),
    p99Ms: percentile(allMs, 0.99),
    maxMs: percentile(allMs, 1),
  };
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A figure over several rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
  rounds: number;
}

/** Skips rounds without a measurement; undefined if no value is left. */
export function spread(values: readonly (number | undefined)[]): Spread | undefined {
  const measured = values.filter((value) => value !== undefined);
  if (measured.length === 0) return undefined;
  return {
    median: median(measured),
    min: Math.min(...measured),
    max: Math.max(...measured),
    rounds: measured.length,
  };
}

/** Divides a figure by its yardstick; undefined if either is missing. */
export function ratio(
  value: number | undefined,
  yardstick: number | undefined,
): number | undefined {
  return value === undefined || yardstick === undefined || yardstick <= 0
    ? undefined
    : value / yardstick;
}

/** Formats three significant digits with thousands separators: 0.0234, 1.05, 12.3, 5,120. */
export function readable(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const size = Math.abs(value);
  if (size === 0) return '0';
  const digits = size >= 100 ? 0 : Math.min(4, 2 - Math.floor(Math.log10(size)));
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
