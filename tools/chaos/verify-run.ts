import { deliveryId } from '../../shared/model/delivery';
import { PARTS, type Role, ROLES, rolesOf } from './scenario';
import { type Commits } from './commits';
import { explainRepeats, type Disturbance, type RepeatsReport } from './explain-repeats';
import { type Ends, type History } from './history';
import { type Receipts } from './receipts';

/** Whether the promise was kept: from what clients were told, what endpoints took, and what was written down. Pure. */

export interface Evidence {
  sourceId: string;
  destinations: Record<Role, string>;
  /** ids of messages that were answered 200 */
  acknowledged: Iterable<string>;
  receipts: Record<Role, Receipts>;
  history: History;
  /** of delivery */
  commits: Commits;
  disturbances: readonly Disturbance[];
}

/** A delivery about which something is wrong. */
export interface Finding {
  message: string;
  role: Role;
  delivery: string;
  why: string;
}

/** What may never be. */
export const CRIMES = ['lost', 'deadAtHealthy', 'notTaken', 'noLetter'] as const;
type Crime = (typeof CRIMES)[number];

export interface Verdict {
  acknowledged: number;
  /** deliveries that follow from them, each of which has ended unless it is lost */
  deliveries: number;
  delivered: number;
  cancelled: number;
  /** by role and reason */
  dead: Record<string, number>;
  /** calls that came after their destination was switched off */
  notRouted: number;
  /** copies of messages that clients sent again and that were stored again: none of them makes a second delivery */
  copies: number;
  /**
   * `lost`: no end is recorded. `deadAtHealthy`: given up where it would have been taken. `notTaken`: recorded as
   * delivered, and never taken. `noLetter`: recorded as dead, and not kept.
   */
  crimes: Record<Crime, Finding[]>;
  /** ends that contradict each other: only a crash between a record and its offset can make them */
  contradictions: Finding[];
  repeats: Partial<Record<Role, RepeatsReport>>;
}

/** Looks at each acknowledged message at each destination, and at each repeat at the healthy ones. */
export function verifyRun(evidence: Evidence): Verdict {
  const verdict = newVerdict();
  for (const message of evidence.acknowledged) {
    verdict.acknowledged++;
    verdict.copies += Math.max(0, evidence.history.copiesOf(message) - 1);
    for (const role of rolesOf(message)) {
      const delivery = deliveryId(evidence.sourceId, message, evidence.destinations[role]);
      judgeDelivery(verdict, evidence, { message, role, delivery });
    }
  }
  for (const role of ROLES) {
    if (!PARTS[role].healthy) continue;
    const { history, commits, disturbances } = evidence;
    verdict.repeats[role] = explainRepeats({ receipts: evidence.receipts[role], history, commits, disturbances });
  }
  return verdict;
}

function judgeDelivery(verdict: Verdict, evidence: Evidence, about: Omit<Finding, 'why'>): void {
  const { message, role, delivery } = about;
  const ends = evidence.history.endsOf(delivery);
  if (!ends && PARTS[role].leaves) {
    verdict.notRouted++;
    return;
  }
  verdict.deliveries++;
  const accuse = (crime: Crime, why: string) => verdict.crimes[crime].push({ ...about, why });
  const kinds = ends ? kindsOf(ends) : [];
  if (!ends || kinds.length === 0) {
    const copies = evidence.history.copiesOf(message);
    accuse('lost', `${copies} copies in messages, ${ends?.events ?? 0} events, no end`);
    return;
  }
  if (kinds.length > 1) verdict.contradictions.push({ ...about, why: kinds.join(' and ') });
  // Delivered is final, whatever else is recorded.
  if (ends.delivered > 0) {
    verdict.delivered++;
    if (!evidence.receipts[role].has(delivery)) accuse('notTaken', `recorded ${ends.delivered} times`);
  } else if (ends.dead > 0) {
    const reason = ends.deadReason ?? '';
    verdict.dead[`${role}: ${reason}`] = (verdict.dead[`${role}: ${reason}`] ?? 0) + 1;
    if (PARTS[role].healthy) accuse('deadAtHealthy', reason);
    if (ends.letter === undefined) accuse('noLetter', reason);
  } else {
    verdict.cancelled++;
  }
}

function kindsOf(ends: Ends): string[] {
  return (['delivered', 'dead', 'cancelled'] as const).filter((kind) => ends[kind] > 0);
}

function newVerdict(): Verdict {
  return {
    acknowledged: 0,
    deliveries: 0,
    delivered: 0,
    cancelled: 0,
    dead: {},
    notRouted: 0,
    copies: 0,
    crimes: { lost: [], deadAtHealthy: [], notTaken: [], noLetter: [] },
    contradictions: [],
    repeats: {},
  };
}
