import { Router } from 'express';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { bodyJson, readBody } from '../bodies';
import { deliveriesQuery, deliveryDetail, deliveryView, filterOf } from '../deliveries';
import { type ControlDeps } from '../deps';
import { getDelivery, listDeliveries } from '../history/queries';
import { decodeCursor, encodeCursor, parseQuery } from '../query';
import { openWebhooks } from '../webhooks';

/** /api/v1/deliveries */
export function deliveryRoutes(deps: ControlDeps): Router {
  const router = Router();
  const read = methodNotAllowed(['GET', 'HEAD']);
  router
    .route('/')
    .get(async (req, res) => {
      const query = parseQuery(deliveriesQuery, req.query);
      const cursor = decodeCursor(query.after);
      const after = cursor && { acceptedAt: cursor.at, id: cursor.id };
      // One more tells whether there is a next page.
      const page = { limit: query.limit + 1, after };
      const found = await deps.history.ask((database) => listDeliveries(database, filterOf(query), page));
      const rows = found.slice(0, query.limit);
      const last = rows.at(-1);
      const next = found.length > rows.length && last ? encodeCursor(last.acceptedAt, last.id) : null;
      res.json({ data: rows.map(deliveryView), next });
    })
    .all(read);
  router
    .route('/:id')
    .get(async (req, res) => {
      res.json(await showDelivery(deps, req.params.id));
    })
    .all(read);
  return router;
}

async function showDelivery({ history, kafka, config, sealer, now }: ControlDeps, id: string) {
  const row = await history.ask((database) => getDelivery(database, id));
  if (!row) throw new Problem('not_found', `The history has no delivery ${JSON.stringify(id.slice(0, 100))}`);
  const destination = config.destination(row.destination)?.data;
  const known = destination ? openWebhooks(destination, sealer) : [];
  const urls = new Map(known.flatMap(({ sealed, url }) => (url === undefined ? [] : [[sealed.id, url]])));
  const body = await readBody(kafka, row, now().getTime());
  return { ...deliveryDetail(row, { urls, destination }), body: body === undefined ? null : bodyJson(body) };
}
