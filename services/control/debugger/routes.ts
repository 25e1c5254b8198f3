import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { showEvent } from './events';
import { readTrial, tryOnEvents } from './filters';
import { findEvents } from './find-events';

/** /api/v1/events */
export function eventHandlers({ events, config, work }: ControlContext): HandlersOf<'events'> {
  return {
    'GET /events': ({ query: { limit, after, ...filter }, by }) =>
      work.inTurn(by.id, (budget) =>
        findEvents(
          events.ring,
          {
            filter,
            limit,
            after,
          },
          {
            view: (entry) => showEvent(entry, config, budget),
            work: budget,
          },
        ),
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
