import { type ControlContext } from '../context';
import { showEvent } from './explain';
import { type HandlersOf } from '../http/mount';

/** /api/v1/events */
export function eventHandlers({ events, config }: ControlContext): HandlersOf<'events'> {
  return {
    'GET /events': ({ query: { limit, after, ...filter }, res }) => {
      const found = events.ring.newest(filter, { limit: limit + 1, before: after });
      const entries = found.slice(0, limit);
      res.json({
        data: entries.map((entry) => showEvent(entry, config)),
        next: found.length > limit ? (entries.at(-1)?.id ?? null) : null,
      });
    },
    'GET /events/stream': ({ query: filter, by, stillAllowed, req, res }) => {
      const seen = req.get('last-event-id');
      const first = seen === undefined ? [] : events.ring.since(seen, filter);
      events.streams.open(res, filter, first, { token: by.id, stillAllowed });
    },
  };
}
