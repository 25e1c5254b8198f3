import { type Commits } from './commits';
import { type Attempt, type History } from './history';
import { type Receipts, type Repeat } from './receipts';

/**
 * Why a delivery came twice. There are four good reasons, and each is provable:
 *
 * - `unanswered`: it is recorded that the attempt before brought no usable answer;
 * - `in_flight`: when something was broken, what had come of it was not written down yet, or not committed: by Kafka's own
 *   record of the commits, not by what is usual;
 * - `forked`: the record that was delivered had been read before, and what came of it then was written (a hop to a tier), but
 *   not committed: from there on it had two lives;
 * - `written_twice`: two records hold it, since who wrote the first was broken before it could say so.
 */

/** What was done to the system, with what may follow from it. */
export interface Disturbance {
  what: string;
  /** ms since 1970, before anything was done */
  at: number;
  /** when it was done, where that is known: to find a process takes a while on a busy machine */
  struckAt?: number;
  /** when everything worked again */
  until: number;
  /**
   * What it may repeat: `flight` what delivery had open at that moment, `flight_until` what it sends until all is well
   * again too, `writes` what was being written to a topic; nothing where it is an orderly stop.
   */
  may: readonly ('flight' | 'flight_until' | 'writes')[];
}

type Reason = 'unanswered' | 'in_flight' | 'forked' | 'written_twice';

/** The repeats that one disturbance explains, beside what was in flight then. */
interface Share {
  what: string;
  repeats: number;
  /** requests that the endpoint took from the first of these on, while they could be repeated: there cannot be more */
  inFlight: number;
  /** when the repeated ones had been taken before: the first and the last, ms from its moment */
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
 * Commits go out every 100 ms; how long one takes depends on how busy the machine is, and in the wake of something else
 * that was broken (a group that meets again commits nothing) on that.
 */
export const IN_FLIGHT_MS = 1_500;
/** After a broker's return, or a thaw: until the group has met again and offsets are committed. */
const SETTLE_MS = 10_000;
/** A record that was open at a fault is read again at the latest when its group has met and caught up. */
const FORK_MS = 120_000;
/** What was on the wire when the process died still arrives. */
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
    reasons: { unanswered: 0, in_flight: 0, forked: 0, written_twice: 0 },
    shares: [],
    unexplained: [],
  };
  const shares = new Map<Disturbance, Share>();
  for (const repeat of receipts.repeats) {
    const by = explain(repeat, from);
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
    share.inFlight = receipts.between(at + Math.min(share.fromMs, -IN_FLIGHT_MS), at + share.untilMs);
  }
  report.shares = [...shares.values()];
  return report;
}

interface Explanation {
  reason: Reason;
  disturbance?: Disturbance;
}

/** What repeats are held against. */
interface Known {
  history: History;
  commits: Commits;
  disturbances: readonly Disturbance[];
}

function explain(repeat: Repeat, known: Known): Explanation | undefined {
  const { history, disturbances } = known;
  const attempts = history.attemptsOf(repeat.delivery);
  const unanswered = attempts.some(
    ({ outcome, at }) => outcome === 'retry' && at >= repeat.previousAt && at <= repeat.at,
  );
  if (unanswered) return { reason: 'unanswered' };
  const inFlight = disturbances.findLast((candidate) => wasInFlight(repeat, attempts, candidate, known));
  if (inFlight) return { reason: 'in_flight', disturbance: inFlight };
  const fork = disturbances.findLast((candidate) => forkedIt(attempts, candidate, known));
  if (fork) return { reason: 'forked', disturbance: fork };
  const records = new Set(attempts.map(({ record }) => record));
  const names = new Set(attempts.map(({ n, hop }) => `${n}/${hop}`));
  // As many records as names is a delivery that went on; more of them is one that was written twice.
  if (records.size <= names.size) return undefined;
  const writer = disturbances.findLast(({ may, at }) => may.includes('writes') && at <= repeat.at);
  return writer && { reason: 'written_twice', disturbance: writer };
}

/**
 * Taken before the end of the disturbance, and not safe when it began: what came of it was not written down yet, or so
 * shortly before that it was not committed.
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
  const inTheWakeOf = (other: Disturbance) =>
    other !== disturbance && other.at <= disturbance.at && other.until + SETTLE_MS >= recordedAt;
  return recordedAt >= disturbance.at - IN_FLIGHT_MS || disturbances.some(inTheWakeOf);
}

/** A record was open when it happened, was delivered after it, and the delivery went on all the same. */
function forkedIt(attempts: readonly Attempt[], disturbance: Disturbance, { commits }: Known): boolean {
  if (lastInFlight(disturbance) === undefined) return false;
  return attempts.some(
    ({ outcome, record, hop, at }) =>
      outcome === 'delivered' &&
      at >= disturbance.at &&
      at - disturbance.at < FORK_MS &&
      !commits.covers(record, 0, disturbance.at) &&
      attempts.some((other) => other.hop > hop && other.at > at),
  );
}

/** Until when something may have been taken that is repeated for it. */
function lastInFlight({ may, at, struckAt = at, until }: Disturbance): number | undefined {
  if (may.includes('flight_until')) return until + SETTLE_MS;
  return may.includes('flight') ? struckAt + WIRE_MS : undefined;
}

function newShare({ what }: Disturbance): Share {
  return { what, repeats: 0, inFlight: 0, fromMs: Infinity, untilMs: -Infinity };
}
