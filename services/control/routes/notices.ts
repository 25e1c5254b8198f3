import { Router } from 'express';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { actorOf } from '../access/authenticate';
import { type Notice, noticesQuery, noticeView } from '../alerts/notice';
import { alertDelivery } from '../alerts/record';
import { type ControlDeps } from '../deps';
import { acknowledge, getNotice, listNotices } from '../history/alerts';
import { decodeCursor, encodeCursor, parseQuery } from '../query';

/** /api/v1/notices */
export function noticeRoutes({ history, now }: ControlDeps): Router {
  const router = Router();
  router
    .route('/')
    .get(async (req, res) => {
      const { limit, after, ...filter } = parseQuery(noticesQuery, req.query);
      const page = { limit: limit + 1, after: decodeCursor(after) };
      const found = await history.ask((database) => listNotices(database, filter, page));
      const notices = found.slice(0, limit);
      const last = notices.at(-1);
      const next = found.length > limit && last ? encodeCursor(last.at, last.id) : null;
      res.json({ data: notices.map(shown), next });
    })
    .all(methodNotAllowed(['GET', 'HEAD']));
  router
    .route('/:id')
    .get(async (req, res) => {
      const { id } = req.params;
      res.json(shown(required(id, await history.ask((database) => getNotice(database, id)))));
    })
    .all(methodNotAllowed(['GET', 'HEAD']));
  router
    .route('/:id/acknowledge')
    .post(async (req, res) => {
      const { id } = req.params;
      const { id: who, name } = actorOf(res);
      const acknowledged = { at: now().getTime(), by: { id: who, name } };
      res.json(shown(required(id, await history.ask((database) => acknowledge(database, id, acknowledged)))));
    })
    .all(methodNotAllowed(['POST']));
  return router;
}

/** With the delivery that tells of it, so that it can be looked up whether it arrived. */
function shown(notice: Notice) {
  return { ...noticeView(notice), delivery: notice.alert === 'sent' ? alertDelivery(notice.id) : null };
}

function required(id: string, notice: Notice | undefined): Notice {
  if (notice) return notice;
  throw new Problem('not_found', `There is no notice ${JSON.stringify(id.slice(0, 100))}`);
}
