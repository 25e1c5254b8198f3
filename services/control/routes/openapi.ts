import { Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { openApi } from '../openapi';

/** /api/v1/openapi.json */
export function openApiRoutes(): Router {
  const router = Router();
  const text = JSON.stringify(openApi());
  router
    .route('/')
    .get((_req, res) => void res.type('json').send(text))
    .all(methodNotAllowed(['GET', 'HEAD']));
  return router;
}
