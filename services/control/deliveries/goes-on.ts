import { type GoesOn } from '../../../shared/api/operations';
import { isUnderWay, waitEnd } from '../../../shared/model/reasons';
import { probedBy } from '../../../shared/model/recall';
import { isoTime, isoTimeOrNull } from '../../../shared/model/time';
import { type CircuitRow } from '../history/circuits';
import { type DeliveryRow } from '../history/delivery-row';
import { standing } from '../history/filter';
import { type Health } from '../health/destination-health';
import { lastErrorOf } from '../destinations/health';

/**
 * Decides what a delivery waits for, from its row and from what is known of its destination. Pure.
 */

/**
 * The present of a destination, which the row of a delivery does not know. Times: ms since 1970.
 */
export interface AtDestination {
  /** null: it was deleted */
  name: string | null;
  isPaused: boolean;
  /** ids of its URLs that are on */
  urls: readonly string[];
  /** the open circuits of these */
  circuits: readonly Pick<CircuitRow, 'url' | 'at'>[];
  /** undefined: it had no attempt yet */
  health: Health | undefined;
}

export interface Now {
  nowMs: number;
  tiersMs: readonly number[];
  /** WAYPOST_RETRY_WINDOW */
  windowMs: number;
}

/**
 * What waited for an answer is on its way within this time after it, ms: delivery asks for it at
 * most every ten seconds.
 */
const SENT_WITHIN_MS = 10_000;

/** @returns null for a delivery that has ended */
export function goesOnOf(row: DeliveryRow, at: AtDestination, now: Now): GoesOn | null {
  if (!isUnderWay(row.status)) return null;
  const { reason } = standing(row, at.isPaused);
  const plannedAt = row.nextAt ?? row.acceptedAt;
  const away = awayOf(row, at);
  const goesOn = (
    when: GoesOn['when'],
    atMs: number | null,
    nextCheckBy: number | null,
  ): GoesOn => ({
    when,
    at: isoTimeOrNull(atMs),
    lastCheck: lastCheckOf(at.health),
    nextCheckBy: isoTimeOrNull(nextCheckBy),
    givenUpAt: isoTime(givenUpAt(row, reason, at, now)),
  });
  // Whatever it waits for now, it then waits for the end of the pause.
  if (at.isPaused) return goesOn('on_release', null, null);
  const when = waitEnd(reason);
  switch (when) {
    case 'at':
      // It keeps its plan while its endpoint is away, and is not sent before the endpoint answers.
      return reason === 'backoff' && away.length > 0
        ? goesOn('on_answer', plannedAt, Math.max(plannedAt, now.nowMs + SENT_WITHIN_MS))
        : goesOn(when, reason === null ? row.acceptedAt : plannedAt, null);
    case 'not_before':
      return goesOn(when, plannedAt, null);
    case 'on_answer':
      return goesOn(when, null, nextCheckBy(row, reason, { away, health: at.health }, now));
    case 'on_release':
      return goesOn(when, null, null);
  }
}

/** Waypost alone is to blame: what it never tried gets its window a second time. */
const OWED: readonly (string | null)[] = ['secrets_unreadable', 'destination_unreadable'];

function givenUpAt(
  { made, expiresAt }: DeliveryRow,
  reason: string | null,
  { isPaused }: AtDestination,
  { windowMs }: Now,
): number {
  return made === 0 && !isPaused && OWED.includes(reason) ? expiresAt + windowMs : expiresAt;
}

/**
 * Returns the circuits of the URLs that the delivery still goes to, if all of them are open; else
 * none. A URL that rejected it gets it no more.
 */
function awayOf({ tries, replay }: DeliveryRow, { urls, circuits }: AtDestination) {
  const rejected = new Set(
    tries
      .filter((each) => each.replay === replay)
      .flatMap((each) => each.urls.filter(({ outcome }) => outcome === 'rejected'))
      .map(({ url }) => url),
  );
  const wanted = urls.filter((id) => !rejected.has(id));
  const open = circuits.filter(({ url }) => wanted.includes(url));
  return open.length < wanted.length ? [] : open;
}

/** The last failure, unless something was delivered since. */
function lastCheckOf(health: Health | undefined): GoesOn['lastCheck'] {
  const lastError = lastErrorOf(health);
  if (!health?.error || lastError === null || (health.successAt ?? 0) >= health.error.at) {
    return null;
  }
  return { ...lastError, url: health.error.url ?? null };
}

/** Returns by when the endpoint, its token endpoint or its proxy is asked again. */
function nextCheckBy(
  { nextAt, acceptedAt }: DeliveryRow,
  reason: string | null,
  { away, health }: Pick<AtDestination, 'health'> & { away: readonly Pick<CircuitRow, 'at'>[] },
  { nowMs, tiersMs }: Now,
): number {
  if (reason === 'circuit_open') {
    const openedAt = Math.min(...away.map(({ at }) => at));
    // Its endpoint has answered: the delivery is on its way.
    if (!Number.isFinite(openedAt)) return nowMs + SENT_WITHIN_MS;
    const lastMs = Math.max(openedAt, health?.error?.at ?? 0);
    return Math.max(nowMs, probedBy(openedAt, lastMs));
  }
  // The delivery itself asks when its tier ends. No event says when a later tier ends, and none is
  // longer than the outage.
  if (nextAt !== null && nextAt > nowMs) return nextAt;
  const since = health?.blocked?.failures[0]?.at ?? acceptedAt;
  const [shortest, longest] = [Math.min(...tiersMs), Math.max(...tiersMs)];
  return nowMs + Math.min(longest, Math.max(shortest, nowMs - since));
}
