import { Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { type ControlDeps } from '../deps';

/** /api/v1/about: what clients need to know of this installation. */
export function aboutRoutes({ ingest }: Pick<ControlDeps, 'ingest'>): Router {
  const router = Router();
  router
    .route('/')
    .get((_req, res) => void res.json({ ingest }))
    .all(methodNotAllowed(['GET', 'HEAD']));
  return router;
}
