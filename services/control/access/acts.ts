import { randomInt } from 'node:crypto';
import { type Response } from 'express';
import { messageOf } from '../../../shared/errors';
import { type ControlDeps } from '../deps';
import { recordAudit } from '../history/audit';
import { type Act } from '../operation';
import { type Actor } from './identities';

/**
 * Writes a row of the audit trail for an operation that changes no entry of `config` (`act` in the table), after a successful
 * answer. The row is in the history's database alone; while that is away, the log has it.
 */

export type ActDeps = Pick<ControlDeps, 'history' | 'log' | 'now'>;

/** 504: the test was sent, although no result of it arrived. */
const isDone = (status: number) => status < 400 || status === 504;

/** @param call its `by` is read when the answer has been sent */
export function auditAct(
  { kind, action, entry: fixed }: Act,
  call: { id: string; by: Actor | undefined; res: Response },
  { history, log, now }: ActDeps,
): void {
  const { id, res } = call;
  res.once('finish', () => {
    const { by } = call;
    if (!by || !isDone(res.statusCode)) return;
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
  });
}
