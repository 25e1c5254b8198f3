import { type Overview } from '../../../shared/api/operations';
import { everyStep } from '../lib/series';

/** The bars above the list of deliveries, and the time that somebody drags over. Pure. */

/** What the bars can count: their numbers know neither users nor codes. */
const COUNTED = ['destination', 'status', 'since', 'until', 'endedSince', 'endedUntil'];
const STATUSES = ['', 'delivered', 'dead'];

/** @param filters as the address has them. @returns whether the bars count what the list shows */
export function hasBars(filters: string): boolean {
  const set = new URLSearchParams(filters);
  const isCounted = [...set.keys()].every((name) => COUNTED.includes(name));
  return isCounted && STATUSES.includes(set.get('status') ?? '');
}

/** Returns the filters of time: a dead delivery has the time of its end. */
export function timesOf(status: string) {
  return status === 'dead'
    ? ({ since: 'endedSince', until: 'endedUntil' } as const)
    : ({ since: 'since', until: 'until' } as const);
}

export interface Bar {
  at: string;
  /** end of the bar, and start of the next one */
  until: string;
  delivered: number;
  dead: number;
}

/** Returns a bar for each step, with the numbers that the status selects. */
export function barsOf(
  counted: Pick<Overview, 'since' | 'stepSeconds' | 'series'>,
  status: string,
  endMs: number,
): Bar[] {
  return everyStep(counted, counted.series, endMs).map(({ at, until, found }) => ({
    at,
    until,
    delivered: status === 'dead' ? 0 : (found?.delivered ?? 0),
    dead: status === 'delivered' ? 0 : (found?.dead ?? 0),
  }));
}

/** @param share where the pointer is, from 0 at the left end to 1. @returns the index of a bar */
export function barAt(share: number, bars: number): number {
  return Math.min(bars - 1, Math.max(0, Math.floor(share * bars)));
}
