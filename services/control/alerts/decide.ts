import { defined } from '../../../shared/collections/defined';
import { ALERTS_ID, type AlertSettings, type Destination } from '../../../shared/model/config';
import { type Health, outageOf } from '../health/destination-health';
import { newNotice, type Notice } from './notice';

/**
 * The console shows a failing endpoint after this time, or after `failingFor` if that is shorter:
 * whoever looks wants to know early, and whoever is woken does not.
 */
const SHOWN_AFTER_MS = 5 * 60_000;
/** Without an announced attempt that may show the opposite soon, one failure shows nothing. */
const LEAST_FAILURES = 2;

/**
 * Decides what to do about the health of a destination at a moment. Pure.
 *
 * | Health                                               | Decision                                              |
 * | ---------------------------------------------------- | ----------------------------------------------------- |
 * | failed for five minutes, and no success              | notice `failing`, open                                |
 * | nothing could be sent for five minutes, likewise      | notice `failing`, open                                |
 * | the same for `failingFor`                            | the alert of that notice                              |
 * | `failing`, and a success after it began              | notice `recovered`; `failing` ends                    |
 * | dead letters, the last alert of them long enough ago | notice `dead_letters`, open, with their number        |
 * | deliveries to some URLs only, likewise               | notice `partly_delivered`, open, with their number    |
 * | failed for `switchOffAfter`, and no success          | to be switched off; once it is, notice `switched_off` |
 * | switched off or deleted by somebody                  | `failing` ends, and earlier failures are forgotten    |
 *
 * The time of a failure counts up to the last one, and up to now while an announced attempt is
 * still to come. One failure counts only in the latter case, and switches nothing off. Deliveries
 * that nothing could be sent for, for example without a token, count likewise until their window
 * ends, if something still waits. They switch nothing off.
 */

export interface Context {
  id: string;
  /** undefined: deleted */
  destination: Destination | undefined;
  settings: AlertSettings;
  nowMs: number;
  /** number of deliveries that wait; undefined: unknown */
  waiting?: number | undefined;
  /**
   * number of deliveries that are still dead of those whose dead letters were not reported;
   * undefined: unknown
   */
  stillDead?: number | undefined;
  /** number of unreported deliveries that some URL still lacks; undefined: unknown */
  stillPartly?: number | undefined;
}

export interface EndedNotice {
  id: string;
  at: number;
  /** somebody switched the destination off or deleted it, so no recovery follows */
  closes?: true;
}

export interface Decision {
  health: Health;
  /** new notices */
  notices: Notice[];
  /** notices that have ended */
  ended: EndedNotice[];
  /** ids of earlier notices whose alert is due now */
  due: string[];
  switchOff: boolean;
}

export function decide(before: Health, context: Context): Decision {
  const decision: Decision = {
    health: { ...before },
    notices: [],
    ended: [],
    due: [],
    switchOff: false,
  };
  if (context.destination?.enabled) whileOn(decision, context, context.destination);
  else whileOff(decision, context);
  tellOfDead(decision, context);
  tellOfPartly(decision, context);
  return decision;
}

function whileOn(decision: Decision, context: Context, destination: Destination): void {
  const { health } = decision;
  const { settings, nowMs, id } = context;
  const { failing, successAt } = health;
  if (failing && successAt !== null && successAt > failing.since) {
    const recovered = notice(decision, context, {
      kind: 'recovered',
      since: failing.since,
      endedAt: successAt,
    });
    // Nobody who gets alerts has heard of the failure.
    decision.notices.push(failing.untold ? { ...recovered, alert: 'none' } : recovered);
    decision.ended.push({ id: failing.notice, at: successAt });
    health.failing = null;
  }
  // A cancellation ends a wait without evidence.
  if (health.blocked && context.waiting === 0) delete health.blocked;
  const outage = shownBy(health, nowMs);
  const lack = lackOfSuccess([outage, shownBy(health.blocked, nowMs)]);
  const isDue = lack !== undefined && lack.ms >= settings.failingForMs;
  if (health.failing?.untold && isDue) {
    const { notice: id, since } = health.failing;
    decision.due.push(id);
    health.failing = { notice: id, since };
  }
  if (lack && !health.failing && (isDue || lack.ms >= SHOWN_AFTER_MS)) {
    const raised = notice(decision, context, {
      kind: 'failing',
      since: lack.since,
      failures: outage?.count ?? 0,
    });
    const alert = isDue || raised.alert === 'none' ? raised.alert : 'later';
    decision.notices.push({ ...raised, alert });
    health.failing = {
      notice: raised.id,
      since: lack.since,
      ...defined({ untold: isDue ? undefined : (true as const) }),
    };
  }
  const limit = destination.switchOffAfterMs ?? settings.switchOffAfterMs ?? 0;
  // Alerts report trouble, so their own destination is never switched off for failing.
  // To switch it off cancels all that waits: one failure is not enough, however late its next
  // attempt is.
  const isSure = outage !== undefined && outage.count >= LEAST_FAILURES;
  decision.switchOff = id !== ALERTS_ID && limit > 0 && isSure && outage.ms >= limit;
  health.switchingOff =
    decision.switchOff && outage ? { since: outage.since, failures: outage.count } : null;
}

/** Returns undefined if there are too few failures to show an outage. */
function shownBy(
  failures: Parameters<typeof outageOf>[0] | undefined,
  nowMs: number,
): ReturnType<typeof outageOf> {
  const outage = failures && outageOf(failures, nowMs);
  return outage && (failures.awaitedUntil > nowMs || outage.count >= LEAST_FAILURES)
    ? outage
    : undefined;
}

/** Joins the time of failures and the time in which nothing could be sent. */
function lackOfSuccess(
  outages: readonly ReturnType<typeof outageOf>[],
): { since: number; ms: number } | undefined {
  const shown = outages.filter((outage) => outage !== undefined);
  if (shown.length === 0) return undefined;
  const since = Math.min(...shown.map((outage) => outage.since));
  return { since, ms: Math.max(...shown.map((outage) => outage.since + outage.ms)) - since };
}

function whileOff(decision: Decision, context: Context): void {
  const { health } = decision;
  const { switchingOff, failing } = health;
  if (switchingOff && context.destination) {
    const { since, failures } = switchingOff;
    decision.notices.push(
      notice(decision, context, { kind: 'switched_off', since, failures, endedAt: context.nowMs }),
    );
  }
  // If Waypost itself switched it off, a person must still look at it.
  const isWaypost = switchingOff !== null && context.destination !== undefined;
  const closes = isWaypost ? {} : ({ closes: true } as const);
  if (failing) decision.ended.push({ id: failing.notice, at: context.nowMs, ...closes });
  // Failures count from the beginning once somebody switches it on again.
  Object.assign(health, {
    failures: [],
    awaitedUntil: 0,
    blocked: undefined,
    failing: null,
    switchingOff: null,
  });
  if (!context.destination) Object.assign(health, { dead: null, partly: null });
}

/** Leaves out dead letters that were replayed before it was time to report them. */
function tellOfDead(decision: Decision, context: Context): void {
  const { health } = decision;
  const { dead, deadToldAt } = health;
  const { nowMs, settings, stillDead = Infinity } = context;
  if (!dead || (deadToldAt !== null && nowMs - deadToldAt < settings.deadLettersEveryMs)) return;
  health.dead = null;
  const { since } = dead;
  const deadLetters = Math.min(dead.count, stillDead);
  if (deadLetters === 0) return;
  decision.notices.push(notice(decision, context, { kind: 'dead_letters', since, deadLetters }));
  health.deadToldAt = nowMs;
}

/** Reports deliveries that reached only some URLs, as often as dead letters. */
function tellOfPartly(decision: Decision, context: Context): void {
  const { health } = decision;
  const { partly, partlyToldAt } = health;
  const { nowMs, settings, stillPartly = Infinity } = context;
  if (!partly || (partlyToldAt !== null && nowMs - partlyToldAt < settings.deadLettersEveryMs)) {
    return;
  }
  health.partly = null;
  const { since, error } = partly;
  const partlyDelivered = Math.min(partly.count, stillPartly);
  if (partlyDelivered === 0) return;
  decision.notices.push(
    notice(decision, context, {
      kind: 'partly_delivered',
      since,
      partlyDelivered,
      error,
    }),
  );
  health.partlyToldAt = nowMs;
}

type Said = Pick<Notice, 'kind' | 'since'> &
  Partial<Pick<Notice, 'endedAt' | 'failures' | 'deadLetters' | 'partlyDelivered' | 'error'>>;

function notice(
  { health }: Decision,
  { id: destination, destination: entry, nowMs }: Context,
  said: Said,
): Notice {
  // Dead letters with the same start may appear in two alerts.
  const mark =
    said.kind === 'dead_letters' || said.kind === 'partly_delivered' ? nowMs : said.since;
  const error = said.kind === 'recovered' ? null : (health.error?.text ?? null);
  const origin = originOf(entry, health.error?.url);
  return newNotice(
    { destination, name: entry?.name ?? '', at: nowMs, error, origin, ...said },
    mark,
  );
}

/** Returns the origin of the URL that failed last, if it is known, else of the first one. */
function originOf(
  destination: Destination | undefined,
  webhook: string | undefined,
): string | null {
  const { webhooks = [] } = destination ?? {};
  return (webhooks.find(({ id }) => id === webhook) ?? webhooks[0])?.origin ?? null;
}

/** Returns whether the decision changes anything that must be stored. */
export function isNews(
  before: Health,
  { health, notices, ended, due, switchOff }: Decision,
): boolean {
  return (
    notices.length > 0 ||
    ended.length > 0 ||
    due.length > 0 ||
    switchOff ||
    JSON.stringify(before) !== JSON.stringify(health)
  );
}
