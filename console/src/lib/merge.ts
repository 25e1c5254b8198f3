import { type Event as SourceEvent } from '../../../shared/api/operations';

/** A list of events, the newest first, to which others come. Pure. */

/** More than a person looks through; each one is drawn. */
export const MAX_SHOWN = 200;

/** The same event may come twice after a break. */
export function withNew(events: readonly SourceEvent[], event: SourceEvent): SourceEvent[] {
  if (events.some(({ id }) => id === event.id)) return [...events];
  return [event, ...events].slice(0, MAX_SHOWN);
}

/** @param past what there was when the stream had begun, the newest first: whatever else has come is newer */
export function withPast(events: readonly SourceEvent[], past: readonly SourceEvent[]): SourceEvent[] {
  const known = new Set(past.map(({ id }) => id));
  return [...events.filter(({ id }) => !known.has(id)), ...past].slice(0, MAX_SHOWN);
}
