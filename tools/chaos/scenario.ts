import { CALL_TYPES, type CallType } from '../../shared/model/message';
import { aCall, type Call } from '../../test/support/factories';
import { type Random } from '../harness/random';

/** Who plays: the calls that come in, and the endpoints that they go to, well behaved and not. */

export const ROLES = ['steady', 'slow', 'mended', 'failing', 'resetting', 'rejecting', 'hanging', 'leaving'] as const;
export type Role = (typeof ROLES)[number];

export interface Part {
  /** the types it wants; absent: all */
  types?: CallType[];
  /** it answers 200 to whatever reaches it: nothing may be given up there */
  healthy: boolean;
  /** it is switched off meanwhile: what was routed ends, and what comes later is no delivery */
  leaves: boolean;
}

/** Few types go to those that are slow to end, since each delivery there costs many attempts. */
export const PARTS: Record<Role, Part> = {
  steady: { healthy: true, leaves: false },
  slow: { types: ['page'], healthy: true, leaves: false },
  mended: { types: ['alias'], healthy: true, leaves: false },
  failing: { types: ['screen'], healthy: false, leaves: false },
  resetting: { types: ['group'], healthy: false, leaves: false },
  rejecting: { types: ['group'], healthy: false, leaves: false },
  hanging: { types: ['identify'], healthy: false, leaves: false },
  leaving: { types: ['identify'], healthy: false, leaves: true },
};

const MIX: Record<CallType, number> = { track: 55, page: 15, screen: 15, alias: 8, group: 5, identify: 2 };
const USERS = 500;

/** Makes calls; each id says its type, and is unlike any other of the run. */
export function callMaker(random: Random): () => Call {
  const deck = CALL_TYPES.flatMap((type) => Array.from({ length: MIX[type] }, () => type));
  let made = 0;
  return () => {
    const type = random.one(deck);
    return aCall(type, { messageId: `${type}-${++made}`, userId: `user-${random.between(1, USERS)}` });
  };
}

/** Where a call must go, told by its id. */
export function rolesOf(messageId: string): Role[] {
  const type = messageId.slice(0, messageId.indexOf('-')) as CallType;
  return ROLES.filter((role) => PARTS[role].types?.includes(type) ?? true);
}
