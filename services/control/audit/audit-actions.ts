import { randomInt } from 'node:crypto';
import { type Response } from 'express';
import { messageOf } from '../../../shared/service/errors';
import { Problem } from '../http/problem';
import { type ControlContext } from '../context';
import { recordAudit } from './store';
import { type Act } from '../../../shared/api/operation';
import { type Actor } from '../auth/identities';

/**
 * Writes a row of the audit trail for a successful operation that changes no entry of `config` (`act` in the table).
 * The row is only in the history's database; while that is away, the log contains it.
 */

export type AuditContext = Pick<ControlContext, 'history' | 'log' | 'now'>;

/** 504: the test was sent, but no result arrived. */
const isDone = (status: number) => status < 400 || status === 504;

/**
 * Call it when the handler has ended, not when the response was sent: a client may close the connection earlier.
 * @param failure the error of the handler
 */
export function auditAction(
  { kind, action, entry: fixed }: Act,
  { id, by, res }: { id: string; by: Actor | undefined; res: Response },
  { history, log, now }: AuditContext,
  failure?: unknown,
): void {
  const status = failure === undefined ? res.statusCode : failure instanceof Problem ? failure.status : 500;
  if (!by || !isDone(status)) return;
  const made = res.get('location')?.split('/').at(-1);
  const entry = fixed ?? (id === '' ? (made ?? by.id) : id);
  // Acts have no versions. A random one makes the row unique.
  const version = randomInt(2 ** 31);
  const row = { kind, action, entry, by, name: entry, changes: [], version, at: now().getTime() };
  history
    .ask((database) => recordAudit(database, [row]))
    .catch((error: unknown) => {
      log.warn({ kind, action, entry, by: by.id, reason: messageOf(error) }, 'audit.not_recorded');
    });
}
