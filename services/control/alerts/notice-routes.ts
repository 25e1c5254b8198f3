import { Problem } from '../http/problem';
import { type Notice, noticeView } from './notice';
import { alertDelivery } from './alert-delivery';
import { type ControlContext } from '../context';
import { acknowledge, getNotice, listNotices } from './store';
import { type HandlersOf } from '../http/mount';
import { decodeCursor, encodeCursor } from '../http/query';

/** /api/v1/notices */
export function noticeHandlers({ history, now }: ControlContext): HandlersOf<'notices'> {
  return {
    'GET /notices': async ({ query: { limit, after, ...filter }, res }) => {
      const page = { limit: limit + 1, after: decodeCursor(after) };
      const found = await history.ask((database) => listNotices(database, filter, page));
      const notices = found.slice(0, limit);
      const last = notices.at(-1);
      const next = found.length > limit && last ? encodeCursor(last.at, last.id) : null;
      res.json({ data: notices.map(shown), next });
    },
    'GET /notices/{id}': async ({ id, res }) => {
      res.json(shown(required(id, await history.ask((database) => getNotice(database, id)))));
    },
    'POST /notices/{id}/acknowledge': async ({ id, by, res }) => {
      const acknowledged = { at: now().getTime(), by: { id: by.id, name: by.name } };
      res.json(shown(required(id, await history.ask((database) => acknowledge(database, id, acknowledged)))));
    },
  };
}

/** Adds the alert's delivery, so that a client can look up whether it arrived. */
function shown(notice: Notice) {
  return { ...noticeView(notice), delivery: notice.alert === 'sent' ? alertDelivery(notice.id) : null };
}

function required(id: string, notice: Notice | undefined): Notice {
  if (notice) return notice;
  throw new Problem('not_found', `Unknown notice ${JSON.stringify(id.slice(0, 100))}`);
}
