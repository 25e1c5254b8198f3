import { Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { actorOf, stillAllowed } from '../access/authenticate';
import { type ControlDeps } from '../deps';
import { showEvent } from '../events/explain';
import { eventsQuery, streamQuery } from '../events/query';
import { parseQuery } from '../query';

/** /api/v1/events */
export function eventRoutes({ events, config }: ControlDeps): Router {
  const router = Router();
  const read = methodNotAllowed(['GET', 'HEAD']);
  router
    .route('/')
    .get((req, res) => {
      const { limit, after, ...filter } = parseQuery(eventsQuery, req.query);
      const found = events.ring.newest(filter, { limit: limit + 1, before: after });
      const entries = found.slice(0, limit);
      res.json({
        data: entries.map((entry) => showEvent(entry, config)),
        next: found.length > limit ? (entries.at(-1)?.id ?? null) : null,
      });
    })
    .all(read);
  router
    .route('/stream')
    .get((req, res) => {
      const filter = parseQuery(streamQuery, req.query);
      const seen = req.get('last-event-id');
      const first = seen === undefined ? [] : events.ring.since(seen, filter);
      events.streams.open(res, filter, first, { token: actorOf(res).id, stillAllowed: stillAllowed(res) });
    })
    .all(read);
  return router;
}
