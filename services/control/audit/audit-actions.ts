import { randomInt } from 'node:crypto';
import { type Response } from 'express';
import { messageOf } from '../../../shared/service/errors';
import { Problem } from '../http/problem';
import { type ControlContext } from '../context';
import { recordAudit } from './store';
import { type Act } from '../http/operation';
import { type Actor } from '../auth/identities';

/**
 * Writes a row of the audit trail for an operation that changes no entry of `config` (`act` in the table), after it has
 * succeeded. The row is in the history's database alone; while that is away, the log has it.
 */

export type AuditContext = Pick<ControlContext, 'history' | 'log' | 'now'>;

/** 504: the test was sent, although no result of it arrived. */
const isDone = (status: number) => status < 400 || status === 504;

/**
 * Called when the handler has ended, not when the answer was sent: a client may close the connection before.
 * @param failure what the handler threw
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
  // Acts have no versions: this one only tells them apart.
  const version = randomInt(2 ** 31);
  const row = { kind, action, entry, by, name: entry, changes: [], version, at: now().getTime() };
  history
    .ask((database) => recordAudit(database, [row]))
    .catch((error: unknown) => {
      log.warn({ kind, action, entry, by: by.id, reason: messageOf(error) }, 'audit.not_recorded');
    });
}
