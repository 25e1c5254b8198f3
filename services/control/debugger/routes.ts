import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { pageOf } from '../http/paging';
import { showEvent } from './events';
import { readTrial, tryOnEvents } from './filters';

/** /api/v1/events */
export function eventHandlers({ events, config, work }: ControlContext): HandlersOf<'events'> {
  return {
    'GET /events': ({ query: { limit, after, ...filter }, by }) =>
      work.inTurn(by.id, (budget) =>
        pageOf(events.ring.newest(filter, { limit: limit + 1, before: after }), limit, {
          nextOf: ({ id }) => id,
          view: (entry) => showEvent(entry, config, budget),
        }),
      ),
    'GET /events/stream': ({ query: filter, by, stillAllowed, req, res }) => {
      const seen = req.get('last-event-id');
      const first = seen === undefined ? [] : events.ring.since(seen, filter);
      events.streams.open(res, filter, first, { token: by.id, stillAllowed });
    },
  };
}

/** /api/v1/filters */
export function filterHandlers(deps: ControlContext): HandlersOf<'filters'> {
  return { 'POST /filters/try': ({ body, by }) => tryOnEvents(deps, by, readTrial(body)) };
}
