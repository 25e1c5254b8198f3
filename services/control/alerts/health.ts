import {
  type AttemptEvent,
  type DeliveryEvent,
  type UrlAttempt,
  type WaitingEvent,
} from '../../../shared/model/attempt-events';
import { lastSuccesses, type Rows } from '../../../shared/model/attempt-rows';
import { ALERTS_ID } from '../../../shared/model/config';

/** Reads the health of a destination from a record of `attempts`. Pure. */

/** Code and HTTP status of an error. */
interface Cause {
  code?: string;
  status?: number;
}

/** Times are ms since 1970. */
export type Evidence =
  | { kind: 'ok'; destination: string; at: number }
  /** `until`: announced time of the next attempt; `at` if none follows */
  | ({ kind: 'failed'; destination: string; at: number; until: number; error: string } & Cause)
  /** nothing can be sent to it; `error` is only in the evidence of the delivery that met the cause */
  | ({ kind: 'blocked'; destination: string; at: number; error?: string } & Cause)
  | { kind: 'dead'; destination: string; at: number }
  /** another URL accepted the delivery, and this one failed or was not called */
  | { kind: 'partly'; destination: string; at: number; error: string };

/**
 * @returns none for records without an outcome, unreadable ones, and test sends, whose result a person sees anyway. Of the
 * successes in rows, the last one of each destination
 */
export function evidenceOf(value: Buffer | null): Evidence[] {
  if (!value) return [];
  try {
    const parsed = successOf(value) ?? (JSON.parse(value.toString()) as DeliveryEvent | Rows);
    if (parsed.kind === 'delivered') {
      return Array.from(lastSuccesses(parsed), ([destination, at]) => ({ kind: 'ok' as const, destination, at }));
    }
    return judge(parsed);
  } catch {
    return [];
  }
}

const BEFORE_URLS = Buffer.from(',"urls":[');
const AFTER_URLS = Buffer.from('}]}');
/** The begin of `retry` and `rejected`. */
const FAILED_URL = Buffer.from('"outcome":"re');

/**
 * Parses a successful attempt up to its URLs, if they are its last field. Nearly all records are successful attempts,
 * and the stored responses are most of their length. JSON escapes quotes in strings, so no string can contain the mark.
 */
function successOf(value: Buffer): DeliveryEvent | undefined {
  const end = value.indexOf(BEFORE_URLS);
  if (end < 0 || !value.subarray(-AFTER_URLS.length).equals(AFTER_URLS)) return undefined;
  try {
    const head = JSON.parse(`${value.toString('utf8', 0, end)}}`) as AttemptEvent;
    return head.outcome === 'delivered' && !value.includes(FAILED_URL, end) ? head : undefined;
  } catch {
    // The writer used another order of fields.
    return undefined;
  }
}

function judge(event: DeliveryEvent): Evidence[] {
  const { destination } = event;
  const at = Date.parse(event.at);
  if (event.test || typeof destination !== 'string' || Number.isNaN(at)) return [];
  if (event.kind === 'dead') return [{ kind: 'dead', destination, at }];
  if (event.kind === 'waiting') return blockOf(event, at);
  if (event.kind !== 'attempt') return [];
  const lacking = lackOf(event);
  const partly: Evidence[] = lacking === undefined ? [] : [{ kind: 'partly', destination, at, error: lacking }];
  // A late event adds to an attempt that the success of another URL has settled.
  if (event.late) return partly;
  if (event.outcome === 'delivered') return [{ kind: 'ok', destination, at }, ...partly];
  const next = event.nextAttemptAt === undefined ? at : Date.parse(event.nextAttemptAt);
  return [{ kind: 'failed', destination, at, until: Math.max(at, next || at), ...errorOf(event.urls) }];
}

/** A delivery waits for this only if no URL can take it. Circuits have their own events. */
const BLOCKING: readonly string[] = ['token', 'proxy', 'secrets_unreadable'];

function blockOf({ destination, reason, urls = [] }: WaitingEvent, at: number): Evidence[] {
  if (!BLOCKING.includes(reason)) return [];
  const unreadable = { error: 'the secrets of the destination cannot be decrypted', code: reason };
  const cause = urls.length > 0 ? errorOf(urls) : reason === 'secrets_unreadable' ? unreadable : {};
  return [{ kind: 'blocked', destination, at, ...cause }];
}

/**
 * Returns why a delivery that a URL accepted lacks another one; undefined: it lacks none. Each alert goes to the endpoints
 * of one channel, so it never reaches all of them.
 */
function lackOf({ destination, outcome, notCalled = [], urls = [] }: Partial<AttemptEvent>): string | undefined {
  if (outcome !== 'delivered' || destination === ALERTS_ID) return undefined;
  const failed = urls.findLast((url) => url.outcome !== 'delivered');
  if (failed) return wordsFor(failed);
  const count = notCalled.length;
  return count === 0
    ? undefined
    : `${String(count)} ${count === 1 ? 'URL was' : 'URLs were'} not called: rejected earlier, or without room`;
}

/** Describes the last URL that failed. Error messages contain no path and no secret. */
function errorOf(urls: readonly UrlAttempt[]): { error: string } & Cause {
  const failed = urls.findLast(({ outcome }) => outcome !== 'delivered');
  if (!failed) return { error: 'no answer is known' };
  const { status, error } = failed;
  return { error: wordsFor(failed), ...(error && { code: error.code }), ...(status !== undefined && { status }) };
}

function wordsFor({ origin, status, error }: UrlAttempt): string {
  const what = status === undefined ? error && `${error.code}: ${error.message}` : `status ${String(status)}`;
  return `${origin}: ${what ?? 'no answer is known'}`;
}

/**
 * The health of a destination, stored in the database. Pure.
 *
 * Evidence comes in any order: a history that catches up reads one partition far ahead of another. So the state does
 * not depend on the order: it holds the last success and the failures after it. A late success removes the failures
 * before it, as if it had come in order.
 */

/** Failures at the same time; times are ms since 1970. */
interface Failures {
  at: number;
  count: number;
}

export interface Health {
  successAt: number | null;
  /** failures after the last success, by time */
  failures: Failures[];
  /** the latest announced time of a next attempt; 0: none */
  awaitedUntil: number;
  /** when a delivery last found that nothing can be sent, after the last success; absent: never */
  blockedAt?: number | undefined;
  error: ({ at: number; text: string } & Cause) | null;
  /** dead letters without an alert so far */
  dead: { count: number; since: number } | null;
  deadToldAt: number | null;
  /** deliveries that reached only some of their URLs, without an alert so far; absent in rows of earlier versions */
  partly?: { count: number; since: number; error: string } | null;
  partlyToldAt?: number | null;
  /** the open notice */
  failing: { notice: string; since: number } | null;
  /**
   * start and number of the failures for which it will be switched off, stored first so that a notice follows even
   * after a crash
   */
  switchingOff: { since: number; failures: number } | null;
}

/** Above this number neighbours are merged, so that an outage of days does not make the row ever larger. */
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
    else if (each.kind === 'blocked') blocked(health, each);
    else if (each.kind === 'dead') health.dead = counted(health.dead, each.at);
    else health.partly = { ...counted(health.partly, each.at), error: each.error };
  }
  return health;
}

function succeeded(health: Health, at: number): void {
  if (health.successAt !== null && at <= health.successAt) return;
  health.successAt = at;
  if (health.blockedAt !== undefined && health.blockedAt <= at) health.blockedAt = undefined;
  if (health.failures.length === 0) return;
  health.failures = health.failures.filter((failure) => failure.at > at);
  if (health.failures.length === 0) health.awaitedUntil = 0;
}

function failed(health: Health, evidence: Extract<Evidence, { kind: 'failed' }>): void {
  const { at, until } = evidence;
  if (health.successAt !== null && at <= health.successAt) return;
  noteError(health, evidence);
  health.awaitedUntil = Math.max(health.awaitedUntil, until);
  const { failures } = health;
  let i = failures.length;
  while (i > 0 && (failures[i - 1]?.at ?? 0) > at) i--;
  const same = failures[i - 1];
  if (same?.at === at) same.count++;
  else failures.splice(i, 0, { at, count: 1 });
  if (failures.length > MAX_FAILURES) health.failures = thinned(failures);
}

function blocked(health: Health, evidence: Extract<Evidence, { kind: 'blocked' }>): void {
  if (health.successAt !== null && evidence.at <= health.successAt) return;
  noteError(health, evidence);
  health.blockedAt = Math.max(health.blockedAt ?? 0, evidence.at);
}

function noteError(health: Health, { at, error, code, status }: { at: number; error?: string } & Cause): void {
  if (error === undefined || at < (health.error?.at ?? 0)) return;
  health.error = { at, text: error, ...(code !== undefined && { code }), ...(status !== undefined && { status }) };
}

/**
 * Merges neighbours, which halves their number. The first and the last keep their times, which give the length of the
 * outage.
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

function counted(before: Health['dead'] | undefined, at: number): NonNullable<Health['dead']> {
  return { count: (before?.count ?? 0) + 1, since: Math.min(before?.since ?? at, at) };
}

/** Returns whether there is nothing to decide. */
export function isQuiet({ failures, blockedAt, failing, dead, partly, switchingOff }: Health): boolean {
  const isTold = failing === null && dead === null && !partly && switchingOff === null;
  return isTold && failures.length === 0 && blockedAt === undefined;
}

/**
 * Returns the start and the length of the failures: up to the last one, or up to now while an announced attempt is
 * still to come.
 */
export function outageOf(
  { failures, awaitedUntil }: Health,
  nowMs: number,
): { since: number; ms: number; count: number } | undefined {
  const [first, last] = [failures[0], failures.at(-1)];
  if (!first || !last) return undefined;
  const until = Math.max(last.at, Math.min(nowMs, awaitedUntil));
  return { since: first.at, ms: until - first.at, count: failures.reduce((sum, { count }) => sum + count, 0) };
}
