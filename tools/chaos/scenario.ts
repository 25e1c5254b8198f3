import { CALL_TYPES, type CallType } from '../../shared/model/message';
import { aCall, type Call } from '../../test/support/factories';
import { type Random } from '../harness/random';

/** The incoming calls, and the endpoints that receive them, well behaved or not. */

export const ROLES = [
  'steady',
  'slow',
  'mended',
  'failing',
  'resetting',
  'rejecting',
  'hanging',
  'leaving',
  'throttled',
  'gone',
] as const;
export type Role = (typeof ROLES)[number];

export interface Part {
  /** the types that it receives; absent: all */
  types?: CallType[];
  /** it responds with 200 to every request: no delivery may become a dead letter */
  healthy: boolean;
  /** it is disabled during the run: its routed deliveries end, and later calls create none */
  leaves: boolean;
}

/**
 * Endpoints with long retries receive few types, because each delivery there costs many attempts.
 */
export const PARTS: Record<Role, Part> = {
  steady: { healthy: true, leaves: false },
  slow: { types: ['page'], healthy: true, leaves: false },
  mended: { types: ['alias'], healthy: true, leaves: false },
  failing: { types: ['screen'], healthy: false, leaves: false },
  resetting: { types: ['group'], healthy: false, leaves: false },
  rejecting: { types: ['group'], healthy: false, leaves: false },
  hanging: { types: ['identify'], healthy: false, leaves: false },
  leaving: { types: ['identify'], healthy: false, leaves: true },
  throttled: { types: ['alias'], healthy: false, leaves: false },
  gone: { types: ['group'], healthy: false, leaves: false },
};

const MIX: Record<CallType, number> = {
  track: 55,
  page: 15,
  screen: 15,
  alias: 8,
  group: 5,
  identify: 2,
};
const USERS = 500;
/** The first ones of them are deleted during the run, again and again. */
export const DELETED_USERS = 20;

export function userName(number: number): string {
  return `user-${String(number)}`;
}

/** Returns whether the user of a call is never deleted. */
export function isKept(user: string | undefined): boolean {
  return user === undefined || Number(user.replace('user-', '')) > DELETED_USERS;
}

/** Creates calls; each id contains its type, and is unique in the run. */
export function callMaker(random: Random): () => Call {
  const deck = CALL_TYPES.flatMap((type) => Array.from({ length: MIX[type] }, () => type));
  let made = 0;
  return () => {
    const type = random.one(deck);
    return aCall(type, {
      messageId: `${type}-${++made}`,
      userId: userName(random.between(1, USERS)),
    });
  };
}

/** Returns the roles that must receive a call, from its id. */
export function rolesOf(messageId: string): Role[] {
  const type = messageId.slice(0, messageId.indexOf('-')) as CallType;
  return ROLES.filter((role) => PARTS[role].types?.includes(type) ?? true);
}
