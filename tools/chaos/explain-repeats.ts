import { type Commits } from './commits';
import { type Attempt, type History } from './history';
import { DELETION_INVARIANTS } from '../harness/deleted-users';
import { type Breach } from '../harness/standing-invariants';
import { type Receipts, type Repeat } from './receipts';

/**
 * Explains why a delivery came twice. Five reasons are legitimate, and each can be proved:
 *
 * - `unanswered`: the record says that the previous attempt got no usable response;
 * - `in_flight`: at a fault, its outcome was not written yet, or not committed: by Kafka's own
 *   record of the commits, not by an estimate;
 * - `forked`: the delivered record had been read before, and its outcome (a hop to a tier) was
 *   written but not committed: from there on the delivery existed twice;
 * - `diverted`: delivery was killed before it had committed a record that it had diverted. Its copy
 *   in the tier came back and was sent, and the record was read again and sent after it;
 * - `written_twice`: two records hold it, because the writer of the first failed before its
 *   acknowledgement.
 */

/** A fault, with its possible consequences. */
export interface Disturbance {
  what: string;
  /** ms since 1970, before the fault */
  at: number;
  /** time of the fault, if known: on a busy machine it takes time to find a process */
  struckAt?: number;
  /** when everything worked again */
  until: number;
  /**
   * The repeats that it may cause: `flight` the requests of delivery in flight at that time,
   * `flight_until` also those until everything works again, `writes` the writes to a topic in
   * progress; none for an orderly stop. `late`: the requests of delivery that are under way arrive
   * only at its end.
   */
  may: readonly ('flight' | 'flight_until' | 'writes' | 'late')[];
}

type Reason = 'unanswered' | 'in_flight' | 'forked' | 'diverted' | 'written_twice';

/** The repeats that one disturbance explains, and the requests in flight at that time. */
interface Share {
  what: string;
  repeats: number;
  /**
   * requests that the endpoint received from the first repeated one on, while they could be
   * repeated: an upper bound
   */
  inFlight: number;
  /** when the repeated ones had arrived before: the first and the last, ms from the fault */
  fromMs: number;
  untilMs: number;
}

export interface RepeatsReport {
  taken: number;
  total: number;
  reasons: Record<Reason, number>;
  shares: Share[];
  /** must be empty */
  unexplained: Repeat[];
}

/**
 * Commits go out every 100 ms. Their duration depends on the load of the machine, and after another
 * fault on the group, which commits nothing while it rebalances.
 */
export const IN_FLIGHT_MS = 1_500;
/**
 * After the return of a broker, or a thaw: until the group has rebalanced and offsets are
 * committed.
 */
const SETTLE_MS = 10_000;
/**
 * After a fault, an open record is read again within this time: its group has rebalanced and caught
 * up.
 */
const FORK_MS = 120_000;
/**
 * The last attempt is before the end of the window by its margin and the shortest tier at most.
 */
const LAST_ATTEMPT_MS = 4_000;
/** Requests on the wire still arrive after the process has died. */
const WIRE_MS = 500;

export function explainRepeats(from: {
  receipts: Receipts;
  history: History;
  commits: Commits;
  disturbances: readonly Disturbance[];
}): RepeatsReport {
  const { receipts } = from;
  const report: RepeatsReport = {
    taken: receipts.taken,
    total: receipts.repeats.length,
    reasons: { unanswered: 0, in_flight: 0, forked: 0, diverted: 0, written_twice: 0 },
    shares: [],
    unexplained: [],
  };
  const shares = new Map<Disturbance, Share>();
  const known = { ...from, spent: new Set<Attempt>() };
  for (const repeat of receipts.repeats) {
    const by = explain(repeat, known);
    if (!by) {
      report.unexplained.push(repeat);
      continue;
    }
    report.reasons[by.reason]++;
    if (!by.disturbance) continue;
    const share = shares.get(by.disturbance) ?? newShare(by.disturbance);
    shares.set(by.disturbance, share);
    share.repeats++;
    const ms = repeat.previousAt - by.disturbance.at;
    share.fromMs = Math.min(share.fromMs, ms);
    share.untilMs = Math.max(share.untilMs, ms);
  }
  for (const [{ at }, share] of shares) {
    share.inFlight = receipts.between(
      at + Math.min(share.fromMs, -IN_FLIGHT_MS),
      at + share.untilMs,
    );
  }
  report.shares = [...shares.values()];
  return report;
}

/**
 * Returns the requests that break a standing invariant although no fault explains them: none of
 * them may be there.
 */
export function unexplainedBreaches(
  breaches: readonly Breach[],
  evidence: { history: History; commits: Commits; disturbances: readonly Disturbance[] },
): Breach[] {
  const known = { ...evidence, spent: new Set<Attempt>() };
  return breaches.filter(({ what, delivery, previousAt, notBefore, atMs }) => {
    const attempts = known.history.attemptsOf(delivery);
    if (DELETION_INVARIANTS.some((each) => each === what)) {
      return !known.disturbances.some(
        ({ may, at, until }) => may.includes('late') && at <= atMs && atMs <= until + WIRE_MS,
      );
    }
    if (what === 'sent to a URL that is off') {
      // A process that stood still may send what it held, before it reads the configuration.
      return !known.disturbances.some(({ at, until }) => at <= atMs && atMs <= until + SETTLE_MS);
    }
    const [record] = known.history.tierRecordsOf(delivery);
    // The last attempt does not wait beyond the window.
    if (record && notBefore > record.expiresAt - LAST_ATTEMPT_MS) return false;
    return explainByFault({ delivery, previousAt, at: atMs }, attempts, known) === undefined;
  });
}

interface Explanation {
  reason: Reason;
  disturbance?: Disturbance;
}

/** The evidence for the repeats. */
interface Known {
  history: History;
  commits: Commits;
  disturbances: readonly Disturbance[];
  /** attempts of records read again that explain a repeat already: each explains one */
  spent: Set<Attempt>;
}

function explain(repeat: Repeat, known: Known): Explanation | undefined {
  const { history } = known;
  const attempts = history.attemptsOf(repeat.delivery);
  const unanswered = attempts.some(
    ({ outcome, at }) => outcome === 'retry' && at >= repeat.previousAt && at <= repeat.at,
  );
  if (unanswered) return { reason: 'unanswered' };
  return explainByFault(repeat, attempts, known);
}

/** Explains a request that would not have been sent without a fault. */
function explainByFault(
  repeat: Repeat,
  attempts: readonly Attempt[],
  known: Known,
): Explanation | undefined {
  const { disturbances } = known;
  const inFlight = disturbances.findLast((candidate) =>
    wasInFlight(repeat, attempts, candidate, known),
  );
  if (inFlight) return { reason: 'in_flight', disturbance: inFlight };
  const fork = disturbances.findLast((candidate) => forkedIt(repeat, attempts, candidate, known));
  if (fork) return { reason: 'forked', disturbance: fork };
  const diversion = disturbances.findLast((candidate) =>
    cutShortDiversion(repeat, attempts, candidate, known),
  );
  if (diversion) return { reason: 'diverted', disturbance: diversion };
  const records = new Set(attempts.map(({ record }) => record));
  const names = new Set(attempts.map(({ n, hop }) => `${n}/${hop}`));
  // If each record has its own name, the delivery moved on; more records than names mean that one
  // was written twice.
  if (records.size <= names.size) return undefined;
  const writer = disturbances.findLast(({ may, at }) => may.includes('writes') && at <= repeat.at);
  return writer && { reason: 'written_twice', disturbance: writer };
}

/**
 * Returns whether it arrived before the end of the disturbance, and was not safe at its start: its
 * outcome was not written yet, or written so shortly before that it was not committed.
 */
function wasInFlight(
  repeat: Repeat,
  attempts: readonly Attempt[],
  disturbance: Disturbance,
  { commits, disturbances }: Known,
): boolean {
  const { previousAt, at } = repeat;
  const last = lastInFlight(disturbance);
  if (last === undefined || at < disturbance.at || previousAt > last) return false;
  const since = attempts.filter((attempt) => attempt.recordedAt >= previousAt);
  if (since.some(({ record }) => commits.covers(record, previousAt, disturbance.at))) return false;
  const recordedAt = Math.min(at, ...since.map((attempt) => attempt.recordedAt));
  return mayBeUncommitted(recordedAt, disturbance, disturbances);
}

/**
 * Returns whether an outcome was written so shortly before a disturbance that its record may not be
 * committed.
 */
function mayBeUncommitted(
  writtenAt: number,
  fault: Disturbance,
  all: readonly Disturbance[],
): boolean {
  if (writtenAt >= fault.at - IN_FLIGHT_MS) return true;
  // A group commits nothing while it rebalances after an earlier fault.
  return all.some(
    (other) =>
      other !== fault &&
      other.at <= fault.at &&
      other.at - IN_FLIGHT_MS <= writtenAt &&
      other.until + SETTLE_MS >= writtenAt,
  );
}

/**
 * Returns whether a record was open at the fault, was delivered after it, and the delivery
 * continued anyway until the repeat or later.
 */
function forkedIt(
  repeat: Repeat,
  attempts: readonly Attempt[],
  disturbance: Disturbance,
  { commits, spent }: Known,
): boolean {
  if (lastInFlight(disturbance) === undefined || repeat.at < disturbance.at) return false;
  return spendOne(spent, attempts, (attempt) => {
    const { outcome, hop, at } = attempt;
    if (outcome !== 'delivered' || !readAgain(attempt, disturbance, commits)) return false;
    return attempts.some((other) => other.hop > hop && other.at > at && mayHaveSent(other, repeat));
  });
}

/**
 * Returns whether the repeat is a record sent after the disturbance although delivery had diverted
 * it before: its copy in the tier was delivered. The copy was written before the last request in
 * flight at the disturbance, with one wait more than the record and no attempt more, and the record
 * was not committed.
 */
function cutShortDiversion(
  repeat: Repeat,
  attempts: readonly Attempt[],
  disturbance: Disturbance,
  { history, commits, disturbances, spent }: Known,
): boolean {
  const last = lastInFlight(disturbance);
  if (last === undefined || repeat.at < disturbance.at) return false;
  return spendOne(spent, attempts, (attempt) => {
    const { n, hop, at } = attempt;
    if (!mayHaveSent(attempt, repeat) || !readAgain(attempt, disturbance, commits)) return false;
    if (
      !attempts.some((other) => other.outcome === 'delivered' && other.hop > hop && other.at <= at)
    ) {
      return false;
    }
    return history
      .tierRecordsOf(repeat.delivery)
      .some(
        (copy) =>
          copy.hop === hop + 1 &&
          copy.attempts === n - 1 &&
          copy.writtenAt <= last &&
          mayBeUncommitted(copy.writtenAt, disturbance, disturbances),
      );
  });
}

/**
 * Returns whether an attempt may be the request of a repeat: a request is sent before its attempt
 * ends.
 */
function mayHaveSent({ at }: Attempt, repeat: Repeat): boolean {
  return repeat.at <= at + WIRE_MS;
}

/**
 * Returns whether the record of an attempt was open at a disturbance, and was tried soon after it.
 */
function readAgain({ record, at }: Attempt, disturbance: Disturbance, commits: Commits): boolean {
  const since = at - disturbance.at;
  return since >= 0 && since < FORK_MS && !commits.covers(record, 0, disturbance.at);
}

/** Marks the first unspent attempt that explains a repeat. Returns whether there is one. */
function spendOne(
  spent: Set<Attempt>,
  attempts: readonly Attempt[],
  explains: (attempt: Attempt) => boolean,
): boolean {
  const found = attempts.find((attempt) => !spent.has(attempt) && explains(attempt));
  if (found) spent.add(found);
  return found !== undefined;
}

/** Returns until when a request may have arrived that is repeated because of it. */
function lastInFlight({ may, at, struckAt = at, until }: Disturbance): number | undefined {
  if (may.includes('flight_until')) return until + SETTLE_MS;
  return may.includes('flight') ? struckAt + WIRE_MS : undefined;
}

function newShare({ what }: Disturbance): Share {
  return { what, repeats: 0, inFlight: 0, fromMs: Infinity, untilMs: -Infinity };
}
