import { randomInt } from 'node:crypto';
import { type Response } from 'express';
import { type Act } from '../../../shared/api/operation';
import { type ConfigView } from '../../../shared/config/types';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { recordAudit } from '../history/audit';
import { type Actor } from '../http/identity';
import { Problem } from '../http/problem';
import { type Asking } from '../history/database';

export interface AuditDeps {
  history: Asking;
  config: Pick<ConfigView, 'destination'>;
  log: Log;
  now: () => Date;
}

/** 504: the test was sent, but no result arrived. */
const isDone = (status: number) => status < 400 || status === 504;

/**
 * Prepares the row of the audit trail for an operation that changes no entry of `config` (`act` in
 * the table), with the name that its destination has now. The row is only in the history's
 * database; while that is away, the log contains it.
 * @returns writes the row if the operation succeeded. Call it when the handler has ended, with its
 * error if it has one, and not when the response was sent: a client may close the connection
 * earlier
 */
export function beginAudit(
  { kind, action, entry: fixed }: Act,
  call: { id: string; by: Actor | undefined; res: Response },
  { history, config, log, now }: AuditDeps,
): (failure?: unknown) => void {
  const { id, res } = call;
  const destination =
    kind === 'destination' ? config.destination(fixed ?? id)?.data.name : undefined;
  return (failure) => {
    // The handler of a login sets it.
    const { by } = call;
    const status =
      failure === undefined ? res.statusCode : failure instanceof Problem ? failure.status : 500;
    if (!by || !isDone(status)) return;
    const made = res.get('location')?.split('/').at(-1);
    const entry = fixed ?? (id === '' ? (made ?? by.id) : id);
    // Acts have no versions. A random one makes the row unique.
    const version = randomInt(2 ** 31);
    const row = {
      kind,
      action,
      entry,
      by,
      name: destination ?? entry,
      changes: [],
      version,
      at: now().getTime(),
    };
    history
      .ask((database) => recordAudit(database, [row]))
      .catch((error: unknown) => {
        log.warn(
          { kind, action, entry, by: by.id, reason: messageOf(error) },
          'audit.not_recorded',
        );
      });
  };
}
