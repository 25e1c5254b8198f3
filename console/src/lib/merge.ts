import { type Event as SourceEvent } from '../../../shared/api/operations';

/** Merges new events into a list, newest first. Pure. */

/** More than a person reads; each event is rendered. */
export const MAX_SHOWN = 200;

/** Skips an event that arrives again after a break. */
export function withNew(events: readonly SourceEvent[], event: SourceEvent): SourceEvent[] {
  if (events.some(({ id }) => id === event.id)) return [...events];
  return [event, ...events].slice(0, MAX_SHOWN);
}

/** @param past the events from before the stream, newest first: all others are newer */
export function withPast(
  events: readonly SourceEvent[],
  past: readonly SourceEvent[],
): SourceEvent[] {
  const known = new Set(past.map(({ id }) => id));
  return [...events.filter(({ id }) => !known.has(id)), ...past].slice(0, MAX_SHOWN);
}
