import { type RequestWork } from '../expressions/work';
import { type Entry, type EventBuffer, type EventFilter } from './buffer';

interface EventPage<T> {
  data: T[];
  /** the last event that was looked at, if older ones remain; null at the end */
  next: string | null;
}

/**
 * Finds the newest events that a filter selects. Events are parsed for it, up to the whole buffer,
 * so this is part of the work of the request. Once that is spent, the page ends early, and may be
 * empty: `next` continues it.
 * @param view returns an event as the page has it
 */
export async function findEvents<T>(
  ring: EventBuffer,
  { filter, limit, after }: { filter: EventFilter; limit: number; after?: string | undefined },
  { view, work }: { view: (entry: Entry) => T; work: RequestWork },
): Promise<EventPage<T>> {
  const data: T[] = [];
  let last: string | undefined;
  for (const entry of ring.newestFirst(
    filter.source === undefined ? undefined : [filter.source],
    after,
  )) {
    if (last !== undefined && work.isSpent) return { data, next: last };
    const isWanted = work.measure(() => ring.shows(entry, filter));
    if (isWanted && last !== undefined && data.length === limit) return { data, next: last };
    if (isWanted) data.push(work.measure(() => view(entry)));
    last = entry.id;
    await work.pause();
  }
  return { data, next: null };
}
