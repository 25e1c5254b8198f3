/** What was counted in steps of time, made ready for a chart. Pure. */

const MINUTE_MS = 60_000;

/** So long ago, to the minute: what is asked for again within a minute is the same question. */
export function sinceOf(spanMs: number, nowMs: number): string {
  return new Date(Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - spanMs).toISOString();
}

interface Span {
  since: string;
  stepSeconds: number;
}

/** One for each step until now: where nothing was counted the chart shows a gap, and not another time. */
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
/** Steps of hours are of days: the hour alone would not say which. */
const LONG_STEP_SECONDS = 3_600;

/** What stands below a step. */
export function stepLabel(at: string, stepSeconds: number): string {
  const date = new Date(at);
  const day = date.toLocaleDateString('en', { day: 'numeric', month: 'short' });
  if (stepSeconds >= DAY_SECONDS) return day;
  const time = date.toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return stepSeconds > LONG_STEP_SECONDS ? `${day}, ${time}` : time;
}
