/** Prepares counts over time for a chart. Pure. */

const MINUTE_MS = 60_000;

/** Returns the start of a time span, rounded to the minute, so that requests within a minute are equal. */
export function sinceOf(spanMs: number, nowMs: number): string {
  return new Date(Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - spanMs).toISOString();
}

interface Span {
  since: string;
  stepSeconds: number;
}

/** Returns one element for each step until now: the chart shows a gap if a step has no count. */
export function everyStep<T extends { at: string }>(
  { since, stepSeconds }: Span,
  series: readonly T[],
  nowMs: number,
): { at: string; found: T | undefined }[] {
  const byTime = new Map(series.map((step) => [Date.parse(step.at), step]));
  const steps = [];
  for (let at = Date.parse(since); at < nowMs; at += stepSeconds * 1_000) {
    steps.push({ at: new Date(at).toISOString(), found: byTime.get(at) });
  }
  return steps;
}

const DAY_SECONDS = 86_400;
/** Longer steps span days: the hour alone would not name the day. */
const LONG_STEP_SECONDS = 3_600;

/** Returns the label of a step. */
export function stepLabel(at: string, stepSeconds: number): string {
  const date = new Date(at);
  const day = date.toLocaleDateString('en', { day: 'numeric', month: 'short' });
  if (stepSeconds >= DAY_SECONDS) return day;
  const time = date.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return stepSeconds > LONG_STEP_SECONDS ? `${day}, ${time}` : time;
}
