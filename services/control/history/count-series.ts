import { isoTime } from '../../../shared/model/time';
import { addColumns, type CountColumns, type Counts, type Kind, percentile } from './minute-counts';
import { type SeriesCount } from './queries';
import { type CountedSpan } from './stored-counts';

/** Sums counts of the history, as a whole and in steps of time for charts. Pure. */

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Only a few hours are summed from their minutes. */
const LONG_MS = 6 * HOUR_MS;
/** The most points that a chart can show, even on a phone. */
const MAX_STEPS = 60;
/** Convenient numbers of minutes; longer steps are whole days. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440];

export interface Span extends CountedSpan {
  stepMs: number;
}

/** Returns the span in steps of whole minutes. Charts of the same span have the same steps. */
export function spanOf(since: number | undefined, untilMs: number, maxSteps = MAX_STEPS): Span {
  const from = Math.min(since ?? untilMs - DAY_MS, untilMs);
  const least = (untilMs - from) / maxSteps / MINUTE_MS;
  const minutes =
    STEPS.find((step) => step >= least) ?? Math.ceil((least * MINUTE_MS) / DAY_MS) * 1_440;
  const stepMs = minutes * MINUTE_MS;
  // A long span begins with a whole hour, so that it is read from the counts of hours.
  const begins = untilMs - from >= LONG_MS ? Math.max(stepMs, HOUR_MS) : stepMs;
  return { sinceMs: Math.floor(from / begins) * begins, untilMs, stepMs };
}

/**
 * Returns the span as far as it can be counted: it is in steps of whole hours if it begins before
 * the oldest minute, because an hour that is counted as a whole cannot be divided.
 * @param minutesFrom ms since 1970; before this time only hours are counted
 */
export function countableSpan(span: Span, minutesFrom: number): Span {
  if (span.sinceMs >= minutesFrom) return span;
  const stepMs = Math.max(span.stepMs, HOUR_MS);
  return {
    sinceMs: Math.floor(span.sinceMs / stepMs) * stepMs,
    untilMs:
      span.untilMs < minutesFrom ? Math.ceil(span.untilMs / HOUR_MS) * HOUR_MS : span.untilMs,
    stepMs,
  };
}

/** Returns the end of a span, which is never in the future. */
export function endOf(until: number | undefined, nowMs: number): number {
  return Math.min(until ?? nowMs, nowMs);
}

export function seriesOf(steps: readonly SeriesCount[]) {
  return steps.map((step) => ({ at: isoTime(step.at), ...totals([step]) }));
}

export function totals(rows: readonly CountColumns[]) {
  const counts = sumOf(rows);
  const total = (kind: Kind) => Math.max(0, counts.get(kind) ?? 0);
  return {
    delivered: total('delivered'),
    partlyDelivered: total('partly'),
    dead: total('dead'),
    cancelled: total('cancelled'),
    attempts: total('attempts'),
    failedAttempts: total('failed'),
    latencyMs: { p50: percentile(counts, 0.5), p95: percentile(counts, 0.95) },
  };
}

export function sumOf(rows: readonly CountColumns[]): Counts {
  const counts: Counts = new Map();
  for (const row of rows) addColumns(counts, row);
  return counts;
}
