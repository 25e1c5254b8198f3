import { type Range } from '../lib/series';
import { timeOf } from './search';

/** What the histogram above a list of deliveries shows. Pure. */

type Ended = 'delivered' | 'partlyDelivered' | 'dead' | 'cancelled';

/** The ends that make up the list of a status; absent: nothing counts it over time. */
const ENDS: Readonly<Record<string, readonly Ended[] | undefined>> = {
  '': ['delivered', 'dead', 'cancelled'],
  delivered: ['delivered'],
  partly_delivered: ['partlyDelivered'],
  dead: ['dead'],
  cancelled: ['cancelled'],
};

/** Filters that the counts follow, or that choose a part of the time. */
const FOLLOWED: readonly string[] = [
  'destination',
  'status',
  'since',
  'until',
  'endedSince',
  'endedUntil',
  'counted',
];

/**
 * Returns which ends to count.
 * @param filters as the address has them, without the page
 * @returns none if a filter finds fewer deliveries than are counted
 */
export function endsShown(filters: string): readonly Ended[] {
  const set = new URLSearchParams(filters);
  if ([...set.keys()].some((name) => !FOLLOWED.includes(name))) return [];
  return ENDS[set.get('status') ?? ''] ?? [];
}

interface Times {
  since: string;
  until: string;
  endedSince: string;
  endedUntil: string;
}

/**
 * Returns the time to show: that of the list, and around a chosen part of it at least a day. A part
 * that was chosen stays in it.
 * @returns `until` is undefined up to now
 */
export function histogramSpan(
  { since, until, endedSince, endedUntil }: Times,
  nowMs: number,
): Pick<Range, 'since'> & { until: string | undefined } {
  const starts = [timeOf(since === '' ? '24h' : since, nowMs), endedSince];
  const ends = until === '' ? [] : [timeOf(until, nowMs), endedUntil];
  const known = (times: readonly string[]) =>
    times.map((time) => Date.parse(time)).filter((ms) => !Number.isNaN(ms));
  const iso = (ms: number) => new Date(ms).toISOString();
  const end = known(ends);
  return {
    since: iso(Math.min(...known(starts), nowMs)),
    until: end.length === 0 ? undefined : iso(Math.max(...end)),
  };
}

/**
 * Returns the first and the last step that have a part of a time; undefined: the time is no choice,
 * or no step has it.
 * @param chosen an empty end: up to now
 */
export function stepsWithin(
  steps: readonly { at: string; until: string }[],
  chosen: Range,
): { x1: string; x2: string } | undefined {
  const [from, to] = [Date.parse(chosen.since), Date.parse(chosen.until)];
  if (Number.isNaN(from)) return undefined;
  const within = steps.filter(
    ({ at, until }) => Date.parse(until) > from && !(Date.parse(at) >= to),
  );
  const [first, last] = [within[0], within.at(-1)];
  return first && last ? { x1: first.at, x2: last.at } : undefined;
}
