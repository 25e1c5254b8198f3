import { deliveryId } from '../../shared/model/delivery';
import { PARTS, type Role, ROLES, rolesOf } from './scenario';
import { type Commits } from './commits';
import {
  explainRepeats,
  type Disturbance,
  type RepeatsReport,
  unexplainedBreaches,
} from './explain-repeats';
import { type Breach } from '../harness/standing-invariants';
import { type Ends, type History, type Totals } from './history';
import { type Receipts } from './receipts';
import { LISTED, type ShownHistory } from './shown-history';

/**
 * Verifies the promise from the responses to clients, the requests at the endpoints, and the
 * records in Kafka. Pure.
 */

/** What power cuts have removed from `messages`. */
export interface Cuts {
  /** the number of records */
  records: number;
  /** the messages that were acknowledged before a cut */
  before: Set<string>;
}

export interface Evidence {
  sourceId: string;
  destinations: Record<Role, string>;
  /** ids of messages that got a 200 */
  acknowledged: Iterable<string>;
  cuts: Cuts;
  receipts: Record<Role, Receipts>;
  history: History;
  /** commits of delivery */
  commits: Commits;
  disturbances: readonly Disturbance[];
  /** requests that break a standing invariant, unless a fault explains them */
  breaches: readonly Breach[];
  /** when each delivery last came to its endpoint, ms since 1970 */
  lastAsked: Record<Role, ReadonlyMap<string, number>>;
  /** what control shows at the end */
  shown: ShownHistory;
}

/** A delivery with a violation. */
export interface Finding {
  message: string;
  role: Role;
  delivery: string;
  why: string;
}

/** Outcomes that must never happen. */
export const CRIMES = [
  'lost',
  'deadAtHealthy',
  'notTaken',
  'noLetter',
  'sentAfterCancellation',
] as const;
/** A request that is on the wire when its delivery is cancelled. */
const WIRE_MS = 1_000;
type Crime = (typeof CRIMES)[number];

export interface Verdict {
  acknowledged: number;
  /** resulting deliveries; each has ended unless it is lost */
  deliveries: number;
  delivered: number;
  cancelled: number;
  /** by role and reason */
  dead: Record<string, number>;
  /** calls after their destination was disabled */
  notRouted: number;
  /** messages that a power cut removed before they were routed: of so many records at most */
  cutOff: { messages: Set<string>; records: number };
  /**
   * copies of messages that clients sent again and that were stored again: none of them creates a
   * second delivery
   */
  copies: number;
  /**
   * `lost`: no recorded end. `deadAtHealthy`: a dead letter of an endpoint that accepts everything.
   * `notTaken`: recorded as delivered, but never received. `noLetter`: recorded as dead, but
   * without a dead letter. `sentAfterCancellation`: a request began after its cancellation was
   * written.
   */
  crimes: Record<Crime, Finding[]>;
  /**
   * ends that contradict each other: only a crash between a record and its offset can cause them
   */
  contradictions: Finding[];
  repeats: Partial<Record<Role, RepeatsReport>>;
  /** number of requests that break a standing invariant, and those that no fault explains */
  breaches: { total: number; unexplained: Breach[] };
  /** what control shows and did not happen, or the other way round; must be empty */
  misshown: string[];
}

/** Verifies each acknowledged message at each destination, and each repeat at the healthy ones. */
export function verifyRun(evidence: Evidence): Verdict {
  const verdict = newVerdict();
  verdict.cutOff.records = evidence.cuts.records;
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
    verdict.repeats[role] = explainRepeats({
      receipts: evidence.receipts[role],
      history,
      commits,
      disturbances,
    });
  }
  const { breaches } = evidence;
  verdict.breaches = {
    total: breaches.length,
    unexplained: unexplainedBreaches(breaches, evidence),
  };
  verdict.misshown = misshown(evidence, evidence.shown);
  return verdict;
}

/** Returns what control shows and did not happen, or the other way round. */
export function misshown(
  { destinations, history }: Pick<Evidence, 'destinations' | 'history'>,
  { delivered, rows }: ShownHistory,
): string[] {
  const { deliveries } = history.totalsOf(destinations[LISTED]);
  const counts = ROLES.flatMap((role) =>
    miscounted(role, delivered[role], history.totalsOf(destinations[role])),
  );
  return [...counts, ...mislisted(deliveries, rows)];
}

/**
 * Compares the counts of control with the records. What was delivered to a user is not counted if
 * control reads it after the deletion of the user.
 */
function miscounted(
  role: Role,
  counted: number,
  { delivered, deliveredOfKept }: Readonly<Totals>,
): string[] {
  if (deliveredOfKept <= counted && counted <= delivered) return [];
  return [
    `${role}: ${String(counted)} counted as delivered, ` +
      `${String(deliveredOfKept)} to ${String(delivered)} were`,
  ];
}

/**
 * Compares the list of a destination with the records: it shows each delivery once. Those of users
 * who are deleted may be missing.
 * @param deliveries whether the user of each is never deleted
 * @param rows how often each is listed
 */
export function mislisted(
  deliveries: ReadonlyMap<string, boolean>,
  rows: ReadonlyMap<string, number>,
): string[] {
  const twice = [...rows].filter(([, times]) => times > 1).length;
  const missing = [...deliveries].filter(([id, isOfKept]) => isOfKept && !rows.has(id)).length;
  const unknown = [...rows.keys()].filter((id) => !deliveries.has(id)).length;
  const found = { 'listed twice': twice, 'not listed': missing, 'listed, and unknown': unknown };
  return Object.entries(found).flatMap(([what, count]) =>
    count === 0 ? [] : [`${LISTED}: ${String(count)} deliveries ${what}`],
  );
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
    // What is there is read, however much around it was cut off.
    if (!ends && copies === 0 && evidence.cuts.before.has(message)) {
      verdict.deliveries--;
      verdict.cutOff.messages.add(message);
      return;
    }
    accuse('lost', `${copies} copies in messages, ${ends?.events ?? 0} events, no end`);
    return;
  }
  if (kinds.length > 1) verdict.contradictions.push({ ...about, why: kinds.join(' and ') });
  // Delivered is final, regardless of other records.
  if (ends.delivered > 0) {
    verdict.delivered++;
    if (!evidence.receipts[role].has(delivery)) {
      accuse('notTaken', `recorded ${ends.delivered} times`);
    }
  } else if (ends.dead > 0) {
    const reason = ends.deadReason ?? '';
    verdict.dead[`${role}: ${reason}`] = (verdict.dead[`${role}: ${reason}`] ?? 0) + 1;
    if (PARTS[role].healthy) accuse('deadAtHealthy', reason);
    if (ends.letter === undefined) accuse('noLetter', reason);
  } else {
    verdict.cancelled++;
    const lastAt = evidence.lastAsked[role].get(delivery) ?? -Infinity;
    const { cancelledAt = Infinity } = ends;
    if (lastAt > cancelledAt + WIRE_MS) {
      accuse('sentAfterCancellation', `${String(lastAt - cancelledAt)} ms after it`);
    }
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
    cutOff: { messages: new Set(), records: 0 },
    copies: 0,
    crimes: { lost: [], deadAtHealthy: [], notTaken: [], noLetter: [], sentAfterCancellation: [] },
    contradictions: [],
    repeats: {},
    breaches: { total: 0, unexplained: [] },
    misshown: [],
  };
}
