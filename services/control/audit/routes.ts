import { type ControlContext } from '../context';
import { isChange } from '../../../shared/api/audit';
import { auditId, listAudit } from './store';
import { type HandlersOf } from '../http/mount';
import { decodeCursor, encodeCursor } from '../http/paging';

/** /api/v1/audit */
export function auditHandlers({ history }: ControlContext): HandlersOf<'audit'> {
  return {
    'GET /audit': async ({ query: { limit, after, ...filter }, res }) => {
      const page = { limit: limit + 1, after: decodeCursor(after) };
      const found = await history.ask((database) => listAudit(database, filter, page));
      const rows = found.slice(0, limit);
      const last = rows.at(-1);
      res.json({
        data: rows.map(({ at, version, ...row }) => ({
          at: new Date(at).toISOString(),
          ...row,
          version: isChange(row) ? version : null,
        })),
        next: found.length > limit && last ? encodeCursor(last.at, auditId(last)) : null,
      });
    },
  };
}
