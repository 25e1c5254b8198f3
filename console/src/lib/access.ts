import { type Name } from '../../../shared/api/client';
import { ACCESS, type Session } from '../../../shared/api/operations';

/** Decides which actions a page offers to its user, from the table of operations. The API decides again. Pure. */

const RANK = { none: -1, read_only: 0, operator: 1, admin: 2 } as const;

/** Returns whether the session's role and rights allow an operation. */
export function allows({ role, rights }: Pick<Session, 'role' | 'rights'>, name: Name): boolean {
  const needed = ACCESS[name];
  if (RANK[role] < RANK[needed.role]) return false;
  return rights === null || needed.rights.every((right) => rights.includes(right));
}
