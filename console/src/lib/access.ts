import { type Name } from '../../../shared/api/client';
import { accessTo, hasRight, mayAct, rightsFor } from '../../../shared/api/access';
import { type Session } from '../../../shared/api/operations';

/**
 * Decides which actions a page offers to its user, from the table of operations. The API decides
 * again. Pure.
 */

/** Returns whether the session's role and rights allow an operation. */
export function allows({ role, rights }: Pick<Session, 'role' | 'rights'>, name: Name): boolean {
  return (
    mayAct(role, accessTo(name).role) &&
    rightsFor(name).every((right) => hasRight(rights ?? undefined, right))
  );
}
