import { isChange } from '../../../shared/api/audit';
import { type Encryptor } from '../../../shared/config/encryption';
import { isoTime } from '../../../shared/model/time';
import { type HandlersOf } from '../http/handlers';
import { readPage } from '../http/paging';
import { readVersions } from '../history/destination-versions';
import { versionsOf, withAddresses } from './addresses';
import { auditId, countAudit, listAudit } from '../history/audit';
import { type Asking } from '../history/database';

export interface AuditTrailDeps {
  history: Asking;
  encryptor: Encryptor;
  now: () => Date;
}

export function auditHandlers({ history, encryptor, now }: AuditTrailDeps): HandlersOf<'audit'> {
  return {
    'GET /audit': ({ query: { limit, after, total, ...filter } }) =>
      readPage(
        { limit, after, total },
        {
          read: (page) =>
            history.ask(async (database) => {
              const { rows, stoppedAt } = await listAudit(database, filter, page);
              const versions = await readVersions(database, versionsOf(rows));
              return {
                rows: rows.map((row) => withAddresses(row, versions, encryptor)),
                stoppedAt,
              };
            }),
          count: () => history.ask((database) => countAudit(database, filter)),
          cursorOf: (row) => ({ at: row.at, id: auditId(row) }),
          view: ({ at, version, ...row }) => ({
            at: isoTime(at),
            ...row,
            version: isChange(row) ? version : null,
          }),
          newestMs: filter.until ?? now().getTime(),
        },
      ),
  };
}
