import { defined } from '../../../shared/collections/defined';
import { type Cause, type HealthEvidence } from './attempt-evidence';

/**
 * The health of a destination, stored in the database. Pure.
 *
 * Evidence comes in any order: a history that catches up reads one partition far ahead of another.
 * So the state does not depend on the order: it holds the last success and the failures after it. A
 * late success removes the failures before it, as if it had come in order.
 */

/** Failures at the same time; times are ms since 1970. */
interface Failures {
  at: number;
  count: number;
}

interface Outage {
  /** failures after the last success, by time */
  failures: Failures[];
  /** the latest announced time of a next attempt; 0: none */
  awaitedUntil: number;
}

/** What is known of a destination, and whether it counts as failing. */
export interface KnownHealth extends Health {
  /** when the trouble that the open notice `failing` is about began; absent: there is none */
  failingSince?: number | undefined;
}

export interface Health extends Outage {
  successAt: number | null;
  /** deliveries that nothing could be sent for, as failures; absent: none */
  blocked?: Outage | undefined;
  error: ({ at: number; text: string } & Cause) | null;
  /** dead letters without an alert so far */
  dead: { count: number; since: number } | null;
  /** deliveries that reached only some of their URLs, without an alert so far */
  partly: { count: number; since: number; error: string } | null;
  /**
   * start and number of the failures for which it will be switched off, stored first so that a
   * notice follows even after a crash
   */
  switchingOff: { since: number; failures: number } | null;
}

/**
 * Above this number neighbours are merged, so that an outage of days does not make the row ever
 * larger.
 */
const MAX_FAILURES = 64;

export function unknownHealth(): Health {
  return {
    successAt: null,
    failures: [],
    awaitedUntil: 0,
    error: null,
    dead: null,
    partly: null,
    switchingOff: null,
  };
}

export function addEvidence(before: Health, evidence: readonly HealthEvidence[]): Health {
  const health: Health = {
    ...before,
    ...copied(before),
    ...defined({ blocked: before.blocked ? copied(before.blocked) : undefined }),
  };
  for (const each of evidence) {
    if (each.kind === 'ok') succeeded(health, each.at);
    else if (each.kind === 'failed' || each.kind === 'blocked') failed(health, each);
    else if (each.kind === 'dead') health.dead = counted(health.dead, each.at);
    else health.partly = { ...counted(health.partly, each.at), error: each.error };
  }
  return health;
}

function copied({ failures, awaitedUntil }: Outage): Outage {
  return { failures: failures.map((each) => ({ ...each })), awaitedUntil };
}

function succeeded(health: Health, at: number): void {
  if (health.successAt !== null && at <= health.successAt) return;
  health.successAt = at;
  endBefore(health, at);
  if (!health.blocked) return;
  endBefore(health.blocked, at);
  if (health.blocked.failures.length === 0) health.blocked = undefined;
}

function endBefore(outage: Outage, at: number): void {
  if (outage.failures.length === 0) return;
  outage.failures = outage.failures.filter((failure) => failure.at > at);
  if (outage.failures.length === 0) outage.awaitedUntil = 0;
}

function failed(
  health: Health,
  evidence: Extract<HealthEvidence, { kind: 'failed' | 'blocked' }>,
): void {
  if (health.successAt !== null && evidence.at <= health.successAt) return;
  noteError(health, evidence);
  const isBlocked = evidence.kind === 'blocked';
  addFailure(isBlocked ? (health.blocked ??= { failures: [], awaitedUntil: 0 }) : health, evidence);
}

function addFailure(outage: Outage, { at, until }: { at: number; until: number }): void {
  outage.awaitedUntil = Math.max(outage.awaitedUntil, until);
  const { failures } = outage;
  let i = failures.length;
  while (i > 0 && (failures[i - 1]?.at ?? 0) > at) i--;
  const same = failures[i - 1];
  if (same?.at === at) same.count++;
  else failures.splice(i, 0, { at, count: 1 });
  if (failures.length > MAX_FAILURES) outage.failures = thinned(failures);
}

function noteError(
  health: Health,
  { at, error, code, status, url }: { at: number; error?: string } & Cause,
): void {
  if (error === undefined || at < (health.error?.at ?? 0)) return;
  health.error = {
    at,
    text: error,
    ...defined({
      code,
      status,
      url,
    }),
  };
}

/**
 * Merges neighbours, which halves their number. The first and the last keep their times, which give
 * the length of the outage.
 */
function thinned(failures: readonly Failures[]): Failures[] {
  const thin: Failures[] = [];
  failures.forEach((each, i) => {
    const before = thin.at(-1);
    if (before && i % 2 === 0 && i < failures.length - 1) before.count += each.count;
    else thin.push({ ...each });
  });
  return thin;
}

function counted(
  before: { count: number; since: number } | null,
  at: number,
): NonNullable<Health['dead']> {
  return { count: (before?.count ?? 0) + 1, since: Math.min(before?.since ?? at, at) };
}

/** Returns whether nothing is wrong. */
export function isQuiet({ failures, blocked, dead, partly, switchingOff }: Health): boolean {
  const isTold = dead === null && partly === null && switchingOff === null;
  return isTold && failures.length === 0 && blocked === undefined;
}

/**
 * Returns the start and the length of the failures: up to the last one, or up to now while an
 * announced attempt is still to come.
 */
export function outageOf(
  { failures, awaitedUntil }: Outage,
  nowMs: number,
): { since: number; ms: number; count: number } | undefined {
  const [first, last] = [failures[0], failures.at(-1)];
  if (!first || !last) return undefined;
  const until = Math.max(last.at, Math.min(nowMs, awaitedUntil));
  return {
    since: first.at,
    ms: until - first.at,
    count: failures.reduce((sum, { count }) => sum + count, 0),
  };
}
