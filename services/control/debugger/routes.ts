import { type ConfigView } from '../../../shared/config/types';
import { type HandlersOf } from '../http/handlers';
import { type Events, showEvent } from './events';
import { readTrial, type TrialDeps, tryOnEvents } from './filters';
import { findEvents } from './find-events';

export interface EventDeps extends TrialDeps {
  events: Pick<Events, 'ring' | 'streams'>;
  config: ConfigView;
}

export function eventHandlers({ events, config, work }: EventDeps): HandlersOf<'events'> {
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

export function filterHandlers(deps: TrialDeps): HandlersOf<'filters'> {
  return { 'POST /filters/try': ({ body, by }) => tryOnEvents(deps, by, readTrial(body)) };
}
