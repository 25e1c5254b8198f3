import { type Overview } from '../../../shared/api/operations';
import { everyStep } from '../lib/series';

/** The bars above the list of deliveries, and the time that somebody drags over. Pure. */

/** An end that is counted over time. */
export type End = 'delivered' | 'partlyDelivered' | 'dead' | 'cancelled';

/** What the bars can count: their numbers know neither users nor codes. */
const COUNTED = ['destination', 'status', 'since', 'until', 'endedSince', 'endedUntil', 'counted'];
/** The ends that make up the list of a status. Of those under way nothing has ended. */
const ENDS: Readonly<Record<string, readonly End[] | undefined>> = {
  '': ['delivered', 'dead', 'cancelled'],
  delivered: ['delivered'],
  partly_delivered: ['partlyDelivered'],
  dead: ['dead'],
  cancelled: ['cancelled'],
};

/**
 * @param filters as the address has them
 * @returns the ends to count; none if the bars would count what the list does not show
 */
export function endsOf(filters: string): readonly End[] {
  const set = new URLSearchParams(filters);
  const isCounted = [...set.keys()].every((name) => COUNTED.includes(name));
  return (isCounted && ENDS[set.get('status') ?? '']) || [];
}

export interface Bar {
  at: string;
  /** end of the bar, and start of the next one */
  until: string;
  /** how many ended, in the order of the ends */
  counts: readonly number[];
}

/** Returns a bar for each step. */
export function barsOf(
  counted: Pick<Overview, 'since' | 'stepSeconds' | 'series'>,
  ends: readonly End[],
  endMs: number,
): Bar[] {
  return everyStep(counted, counted.series, endMs).map(({ at, until, found }) => ({
    at,
    until,
    counts: ends.map((end) => found?.[end] ?? 0),
  }));
}

/** @param share where the pointer is, from 0 at the left end to 1. @returns the index of a bar */
export function barAt(share: number, bars: number): number {
  return Math.min(bars - 1, Math.max(0, Math.floor(share * bars)));
}
