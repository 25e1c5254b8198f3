import { type Json, type JsonObject } from '../../../shared/model/message';
import { type Encryptor } from '../../../shared/config/encryption';
import { secretFields } from '../../../shared/model/secret-fields';
import { type Versions, versionKey } from '../history/destination-versions';
import { type AuditRow } from '../history/audit';

/**
 * Shows the URLs of a destination before and after a change. The stored trail does not contain
 * them. Pure.
 */

const WEBHOOKS = 'webhooks';

/** Returns the versions of destinations that the changes of these rows led from and to. */
export function versionsOf(rows: readonly AuditRow[]): { destination: string; version: number }[] {
  return rows.flatMap(({ kind, entry: destination, version, changes }) =>
    kind === 'destination' && changes.some(({ field }) => field === WEBHOOKS)
      ? [version - 1, version].map((each) => ({ destination, version: each }))
      : [],
  );
}

/** An unknown URL reads `***`. */
export function withAddresses(
  row: AuditRow,
  versions: Versions,
  encryptor: Pick<Encryptor, 'decrypt'>,
): AuditRow {
  if (row.kind !== 'destination') return row;
  const at = (version: number) => (webhooks: Json) => {
    const destination = versions.get(versionKey(row.entry, version));
    if (!destination || !Array.isArray(webhooks)) return webhooks;
    const sealed = new Map(destination.webhooks.map(({ id, url }) => [id, url]));
    return webhooks.map((webhook) => {
      const { id } = webhook as JsonObject;
      if (typeof id !== 'string') return webhook;
      const url = sealed.get(id);
      const text = url && encryptor.decrypt(url, secretFields.url(destination.id, id)).text;
      return text === undefined || text === ''
        ? webhook
        : { ...(webhook as JsonObject), address: text };
    });
  };
  const changes = row.changes.map((change) =>
    change.field === WEBHOOKS
      ? { ...change, from: at(row.version - 1)(change.from), to: at(row.version)(change.to) }
      : change,
  );
  return { ...row, changes };
}
