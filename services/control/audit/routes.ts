import { type ControlContext } from '../context';
import { ACT_KINDS } from './model';
import { auditId, type AuditRow, listAudit } from './store';
import { type HandlersOf } from '../http/mount';
import { decodeCursor, encodeCursor } from '../http/query';

const ACTS: ReadonlySet<string> = new Set(ACT_KINDS);

/** Returns whether a row is a change of an entry of `config`. */
function isChange({ kind, action }: Pick<AuditRow, 'kind' | 'action'>): boolean {
  return !ACTS.has(kind) && action !== 'tested';
}

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
