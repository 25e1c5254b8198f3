import { defined } from '../../../shared/collections/defined';
import { type FilterStatus } from '../../../shared/model/reasons';
import { dayAndMonth, hourAndMinute } from '../texts/moments';

/** Prepares counts over time for a chart. Pure. */

const MINUTE_MS = 60_000;

/**
 * Returns the start of a time span that ends now, rounded down to a step, so that requests within a
 * step are equal.
 */
export function sinceOf(spanMs: number, nowMs: number, stepMs = MINUTE_MS): string {
  return new Date(Math.floor((nowMs - spanMs) / stepMs) * stepMs).toISOString();
}

/** A part of the time, from `since` on and before `until`. */
export interface Range {
  since: string;
  until: string;
}

/**
 * Returns the address of the deliveries that a figure counts: those that ended in a part of the
 * time, which may be hours after their acceptance, or those that are under way.
 * @param destination empty: of all
 * @param range without an end: up to now; without a start: all. Empty for those under way
 */
export function listOf(
  destination: string,
  { since, until }: Partial<Range>,
  status?: FilterStatus,
): string {
  const filters = defined({
    destination: destination !== '' ? destination : undefined,
    status,
    endedSince: since,
    endedUntil: until,
    counted: 'true',
  });
  return `/deliveries?${new URLSearchParams(filters).toString()}`;
}

/** Returns the address of the deliveries whose calls were accepted in a part of the time. */
export function listOfAccepted({ since, until }: Range): string {
  return `/deliveries?${new URLSearchParams({ since, until }).toString()}`;
}

interface Span {
  since: string;
  stepSeconds: number;
}

export interface Step<T> {
  at: string;
  /** end of the step, and start of the next one */
  until: string;
  found: T | undefined;
}

/**
 * Returns one element for each step until `endMs`: the chart shows a gap if a step has no count.
 */
export function everyStep<T extends { at: string }>(
  { since, stepSeconds }: Span,
  series: readonly T[],
  endMs: number,
): Step<T>[] {
  const byTime = new Map(series.map((step) => [Date.parse(step.at), step]));
  const stepMs = stepSeconds * 1_000;
  const iso = (ms: number) => new Date(ms).toISOString();
  const steps = [];
  for (let at = Date.parse(since); at < endMs; at += stepMs) {
    steps.push({ at: iso(at), until: iso(at + stepMs), found: byTime.get(at) });
  }
  return steps;
}

/**
 * Returns the size at each step of a time: the last one that was counted until its end. Null before
 * the first count.
 * @param sizes the oldest first
 */
export function sizeSteps(
  sizes: readonly { at: string; members: number }[],
  span: Span,
  endMs: number,
): { at: string; members: number | null }[] {
  return everyStep(span, [], endMs).map(({ at, until }) => {
    const untilMs = Date.parse(until);
    const last = sizes.findLast((size) => Date.parse(size.at) < untilMs);
    return { at, members: last?.members ?? null };
  });
}

const DAY_SECONDS = 86_400;
/** Longer steps span days: the hour alone would not name the day. */
const LONG_STEP_SECONDS = 3_600;

/** Returns the label of a step. */
export function stepLabel(at: string, stepSeconds: number): string {
  const date = new Date(at);
  const day = dayAndMonth(date);
  if (stepSeconds >= DAY_SECONDS) return day;
  const time = hourAndMinute(date);
  return stepSeconds > LONG_STEP_SECONDS ? `${day}, ${time}` : time;
}

/** Regular distances between the ticks of an axis of time, in seconds. */
const TICK_SECONDS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600),
  ...[1, 2, 7].map((days) => days * DAY_SECONDS),
];
const MOST_TIME_TICKS = 8;
/** Of a line, whose points are narrower than bars. */
const MOST_POINTS = 96;

/** Returns the length of the steps that show a time as a line, in seconds. */
export function stepSecondsOf(spanMs: number): number {
  const least = spanMs / 1_000 / MOST_POINTS;
  return TICK_SECONDS.find((each) => each >= least) ?? DAY_SECONDS;
}

interface TimeTick {
  at: string;
  /** the time, or the day where it begins */
  label: string;
}

/**
 * Returns the ticks of an axis of time: full hours, quarters or days in the time zone of the
 * browser. Where the steps do not meet them, the first step after each.
 * @param keys the starts of the steps, in order
 */
export function timeTicks(keys: readonly string[], stepSeconds: number): TimeTick[] {
  const local = keys.map((at) => {
    const date = new Date(at);
    return date.getTime() / 1_000 - date.getTimezoneOffset() * 60;
  });
  const span = stepSeconds * keys.length;
  const seconds =
    TICK_SECONDS.find((each) => each >= stepSeconds && span / each <= MOST_TIME_TICKS) ?? span;
  const nth = (i: number, each: number) => Math.floor((local[i] ?? 0) / each);
  const ticks = keys.flatMap((at, i) => {
    const before = i === 0 ? ((local[0] ?? 0) - stepSeconds) / seconds : nth(i - 1, seconds);
    return nth(i, seconds) > Math.floor(before) ? [{ at, i }] : [];
  });
  return ticks.map(({ at, i }, t) => {
    const previous = ticks[t - 1];
    // The first tick is compared with the step before it.
    const earlier = previous ? (local[previous.i] ?? 0) : (local[i] ?? 0) - stepSeconds;
    const isNewDay = nth(i, DAY_SECONDS) !== Math.floor(earlier / DAY_SECONDS);
    return { at, label: stepLabel(at, isNewDay || seconds >= DAY_SECONDS ? DAY_SECONDS : 0) };
  });
}

/** Fewer bars would be blocks. */
const LEAST_BARS = 6;

/**
 * Returns the steps of a trend since something exists, and a few before it if there are fewer.
 * @param since start of the trend
 */
export function sinceCreation(
  trend: {
    stepSeconds: number;
    delivered: readonly number[];
    failedAttempts: readonly number[];
  },
  since: string | undefined,
  createdAt: string,
): { delivered: readonly number[]; failed: readonly number[] } {
  const { delivered, failedAttempts, stepSeconds } = trend;
  const ageMs = Date.parse(createdAt) - Date.parse(since ?? '');
  const before = Math.max(0, Math.floor(ageMs / 1_000 / stepSeconds) || 0);
  const first = Math.min(before, Math.max(0, delivered.length - LEAST_BARS));
  return { delivered: delivered.slice(first), failed: failedAttempts.slice(first) };
}

/** Round distances between the ticks of an axis of time, ms. */
const TICKS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS),
];
const MOST_TICKS = 5;

/** Returns the ticks of an axis for latencies up to a maximum, in ms: few, and round. */
export function latencyTicks(maxMs: number): number[] {
  const step = TICKS.find((each) => maxMs / each <= MOST_TICKS) ?? Math.ceil(maxMs / MOST_TICKS);
  return Array.from({ length: Math.max(1, Math.ceil(maxMs / step)) + 1 }, (_, i) => i * step);
}
