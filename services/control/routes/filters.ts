import { Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { type ControlDeps } from '../deps';
import { readTrial, tryFilter } from '../filters';

/** /api/v1/filters */
export function filterRoutes(deps: ControlDeps): Router {
  const router = Router();
  router
    .route('/try')
    .post((req, res) => {
      const { filter, sources, limit } = readTrial(req.body);
      res.json(tried(deps, { filter, sources, limit }));
    })
    .all(methodNotAllowed(['POST']));
  return router;
}

/** How a filter fares on the newest events of these sources, or of all. */
export function tried(
  { events }: Pick<ControlDeps, 'events'>,
  { filter, sources, limit }: { filter: string; sources: readonly string[] | undefined; limit: number },
) {
  const found = (sources ?? [undefined]).flatMap((source) => events.ring.newest({ source, accepted: true }, { limit }));
  const entries = found.sort((a, b) => b.order - a.order).slice(0, limit);
  return tryFilter({ filter, entries, clock: () => performance.now() });
}
