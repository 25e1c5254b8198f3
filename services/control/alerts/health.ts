import { type Evidence } from './evidence';

/**
 * What is known of a destination's health, kept in the database: pure.
 *
 * Evidence comes in any order: a history that catches up reads one partition far ahead of another. So what is kept does
 * not depend on the order: the last success, and the failures after it. A success that turns up late takes away the
 * failures before it, and what is left is what would have been there.
 */

/** Failures that began in one moment; times are ms since 1970. */
interface Failures {
  at: number;
  count: number;
}

export interface Health {
  successAt: number | null;
  /** after the last success, in their order */
  failures: Failures[];
  /** the latest time that a next attempt was announced for; 0: none */
  awaitedUntil: number;
  error: { at: number; text: string } | null;
  /** dead letters that no alert has told of yet */
  dead: { count: number; since: number } | null;
  deadToldAt: number | null;
  /** the notice that is open */
  failing: { notice: string; since: number } | null;
  /** it is about to be switched off, having failed since then: written down before, so that it is told of after a crash */
  switchingOff: { since: number; failures: number } | null;
}

/** Beyond it neighbours are counted as one: an outage of days must not make a row without end. */
const MAX_FAILURES = 64;

export function unknownHealth(): Health {
  return {
    ...{ successAt: null, failures: [], awaitedUntil: 0, error: null },
    ...{ dead: null, deadToldAt: null, failing: null, switchingOff: null },
  };
}

export function addEvidence(before: Health, evidence: readonly Evidence[]): Health {
  const health: Health = { ...before, failures: before.failures.map((each) => ({ ...each })) };
  for (const each of evidence) {
    if (each.kind === 'ok') succeeded(health, each.at);
    else if (each.kind === 'failed') failed(health, each);
    else died(health, each.at);
  }
  return health;
}

function succeeded(health: Health, at: number): void {
  if (health.successAt !== null && at <= health.successAt) return;
  health.successAt = at;
  if (health.failures.length === 0) return;
  health.failures = health.failures.filter((failure) => failure.at > at);
  if (health.failures.length === 0) health.awaitedUntil = 0;
}

function failed(health: Health, { at, until, error }: Extract<Evidence, { kind: 'failed' }>): void {
  if (health.successAt !== null && at <= health.successAt) return;
  if (at >= (health.error?.at ?? 0)) health.error = { at, text: error };
  health.awaitedUntil = Math.max(health.awaitedUntil, until);
  const { failures } = health;
  let i = failures.length;
  while (i > 0 && (failures[i - 1]?.at ?? 0) > at) i--;
  const same = failures[i - 1];
  if (same?.at === at) same.count++;
  else failures.splice(i, 0, { at, count: 1 });
  if (failures.length > MAX_FAILURES) health.failures = thinned(failures);
}

/** Half as many. The first and the last stay as they are: they say how long it has failed. */
function thinned(failures: readonly Failures[]): Failures[] {
  const thin: Failures[] = [];
  failures.forEach((each, i) => {
    const before = thin.at(-1);
    if (before && i % 2 === 0 && i < failures.length - 1) before.count += each.count;
    else thin.push({ ...each });
  });
  return thin;
}

function died(health: Health, at: number): void {
  const { dead } = health;
  health.dead = { count: (dead?.count ?? 0) + 1, since: Math.min(dead?.since ?? at, at) };
}

/** Nothing to decide about. */
export function isQuiet({ failures, failing, dead, switchingOff }: Health): boolean {
  return failures.length === 0 && failing === null && dead === null && switchingOff === null;
}

/** Since when it has failed, and for how long: up to its last failure, or while an announced attempt is still to come. */
export function outageOf(
  { failures, awaitedUntil }: Health,
  nowMs: number,
): { since: number; ms: number; count: number } | undefined {
  const [first, last] = [failures[0], failures.at(-1)];
  if (!first || !last) return undefined;
  const until = Math.max(last.at, Math.min(nowMs, awaitedUntil));
  return { since: first.at, ms: until - first.at, count: failures.reduce((sum, { count }) => sum + count, 0) };
}
