import { Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { destinationJsonSchema } from '../destination-schema';

/** /api/v1/catalog: the integrations there are, and what each can be set to. */
export function catalogRoutes(): Router {
  const router = Router();
  const catalog = {
    data: [
      {
        type: 'webhooks',
        name: 'Webhooks',
        description: 'Sends each message as a signed HTTP POST to up to five URLs',
        settings: destinationJsonSchema(),
      },
    ],
    next: null,
  };
  router
    .route('/')
    .get((_req, res) => void res.json(catalog))
    .all(methodNotAllowed(['GET', 'HEAD']));
  return router;
}
