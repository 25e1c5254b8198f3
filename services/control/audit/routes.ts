import { isChange } from '../../../shared/api/audit';
import { type ControlContext } from '../context';
import { type HandlersOf } from '../http/mount';
import { readPage } from '../http/paging';
import { auditId, listAudit } from './store';

/** /api/v1/audit */
export function auditHandlers({ history }: ControlContext): HandlersOf<'audit'> {
  return {
    'GET /audit': ({ query: { limit, after, ...filter } }) =>
      readPage(
        { limit, after },
        {
          read: (page) => history.ask((database) => listAudit(database, filter, page)),
          cursorOf: (row) => ({ at: row.at, id: auditId(row) }),
          view: ({ at, version, ...row }) => ({
            at: new Date(at).toISOString(),
            ...row,
            version: isChange(row) ? version : null,
          }),
        },
      ),
  };
}
