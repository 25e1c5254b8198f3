import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { type Delivery } from '../../../shared/model/delivery';
import { type RetryPlan } from '../../../shared/model/retry-plan';
import {
  lastReturnAt,
  next,
  park,
  parkTiers,
  shortestTier,
  type Wait,
  waitUntil,
} from '../../../shared/model/schedule';
import {
  type CancelReason,
  type DeadReason,
  type DivertReason,
  isEndpointWait,
} from '../../../shared/model/reasons';
import { type Job, type Refusal } from '../lanes/job';
import { isDisabled } from '../destinations/disabled-urls';
import { type Lookup, type OpenLookup, type Endpoint } from '../destinations/endpoint';

/**
 * Decides whether a delivery is tried, waits or ends: when it was read, when its request is about
 * to be sent, and when no lane accepts it.
 */

export type Admission = Admitted | NotTried;

/** The delivery may be tried. */
export interface Admitted {
  kind: 'try';
  /** the version of its destination that admitted it */
  lookup: OpenLookup;
  /** its URLs that are on and have not rejected the delivery, at least one */
  open: Endpoint[];
  /** no tier ends within its window: a `Retry-After` does not hold this attempt back */
  isLast: boolean;
}

/** A step of a delivery that ends without an attempt. */
export type NotTried =
  /** its destination is disabled or deleted: no further attempt */
  | { kind: 'cancelled'; reason: CancelReason }
  | { kind: 'dead'; reason: DeadReason }
  /** goes to a tier without an attempt */
  | {
      kind: 'diverted';
      reason: DivertReason;
      wait: Wait;
      /** requests that were not sent, each with its error */
      urls?: UrlAttempt[];
    };

export interface Timing {
  nowMs: number;
  /** as configured */
  tiersMs: number[];
  /** for how long after its acceptance a delivery is attempted */
  windowMs: number;
  /** own delays of the destination; absent: the tiers */
  delaysMs?: readonly number[] | undefined;
}

/** Returns the timing with the plan of the destination. */
export function planned(timing: Timing, plan: RetryPlan | undefined): Timing {
  if (!plan) return timing;
  return { ...timing, windowMs: plan.windowMs ?? timing.windowMs, delaysMs: plan.delaysMs };
}

/**
 * Returns whether a delivery that is read after its window has waited for Waypost alone. It then
 * gets one attempt however late, because an outage of Waypost must not end it. The mark `final`
 * carries this grant from hop to hop, since each of them overwrites the reason.
 */
export function isOwedOneTry(delivery: Delivery, nowMs: number): boolean {
  return delivery.attempt === 0 && nowMs > delivery.expiresAt && !isEndpointWait(delivery.reason);
}

/** Returns whether a user sent it now. */
export function isRequested({ recalled }: Delivery): boolean {
  return recalled === 'retry' || recalled === 'retry_all';
}

/** Returns whether its lane had sent it to a tier, because its queue or its rate was full. */
export function comesBack({ reason }: Delivery): boolean {
  return reason === 'lane_full' || reason === 'rate_limited';
}

/** Returns how a delivery asks an endpoint that is away: a user sends it now, or all that wait. */
export function insistenceOf({ recalled }: Delivery): Job['insists'] {
  if (recalled === 'retry') return 'always';
  return recalled === 'retry_all' ? 'sometimes' : undefined;
}

/** Returns whether nothing may be sent to a URL. */
type IsOff = (endpoint: Endpoint) => boolean;

/**
 * @param delivery with `final` set if `isOwedOneTry` returns true
 * @param isOff default: as the configuration says
 */
export function admit(
  delivery: Delivery,
  lookup: Lookup,
  settings: Timing,
  isOff: IsOff = isDisabled,
): Admission {
  if (delivery.recalled === 'cancel') return { kind: 'cancelled', reason: 'cancelled_by_user' };
  if (lookup.kind === 'deleted') return { kind: 'cancelled', reason: 'destination_deleted' };
  if (lookup.kind === 'unreadable') return hold(delivery, 'destination_unreadable', settings);
  if (lookup.kind === 'sealed') return hold(delivery, 'secrets_unreadable', settings);

  const { destination } = lookup;
  const timing = planned(settings, destination.plan);
  const { nowMs } = timing;
  if (!destination.enabled && !delivery.test) {
    return { kind: 'cancelled', reason: 'destination_disabled' };
  }

  const willing = destination.endpoints.filter(
    (endpoint) => !delivery.excludedUrls.includes(endpoint.hash),
  );
  if (willing.length === 0) return { kind: 'dead', reason: 'rejected' };
  // A test goes to a URL that is off too: it shows whether the URL can be switched on again.
  if (delivery.test) return { kind: 'try', lookup, open: willing, isLast: false };
  const open = willing.filter((endpoint) => !isOff(endpoint));
  if (open.length === 0) return { kind: 'dead', reason: 'url_disabled' };

  if (destination.paused) return hold(delivery, 'paused', timing);
  if (isOver(delivery, nowMs)) return { kind: 'dead', reason: endOf(delivery) };
  const isLast = hasNoRoom(delivery, timing);
  const clocksDiffer = isBeforeDue(delivery, nowMs);
  const { notBefore = 0, due = 0 } = delivery;
  const waitsUntil = clocksDiffer ? Math.max(notBefore, due) : notBefore;
  const wait = waitsUntil > nowMs ? waitUntil(waitsUntil, boundsOf(delivery, timing)) : undefined;
  if (!wait) return { kind: 'try', lookup, open, isLast };
  const reason = delivery.reason === 'retry_after' ? 'retry_after' : 'backoff';
  return { kind: 'diverted', reason, wait: clocksDiffer ? { ...wait, clocksDiffer } : wait };
}

/** Clocks that differ by less are right. */
const CLOCKS_AGREE_MS = 1_000;

/**
 * Returns whether it waited for the time of its next attempt, and retry has returned it before
 * that: the clock of retry or of this process must be wrong, and the delivery waits on.
 */
function isBeforeDue({ due = 0, reason, recalled }: Delivery, nowMs: number): boolean {
  const isWait = reason === 'backoff' || reason === 'retry_after';
  return isWait && recalled === undefined && due > nowMs + CLOCKS_AGREE_MS;
}

/** Returns whether no tier can return the delivery within its window. */
function hasNoRoom({ expiresAt }: Delivery, { nowMs, tiersMs, windowMs }: Timing): boolean {
  return nowMs + shortestTier(tiersMs) > lastReturnAt(expiresAt, windowMs);
}

function boundsOf({ expiresAt }: Delivery, { nowMs, tiersMs, windowMs }: Timing) {
  return { nowMs, tiersMs, returnBy: lastReturnAt(expiresAt, windowMs) };
}

/**
 * Decides again about a delivery that waited in a lane, at the moment of sending. Returns the same
 * admission if neither its destination, nor its URLs, nor its window have changed since.
 */
export function readmit(
  admitted: Admitted,
  delivery: Delivery,
  lookup: Lookup,
  timing: Timing,
  isOff: IsOff = isDisabled,
): Admission {
  const isSame =
    lookup === admitted.lookup && (delivery.test === true || !admitted.open.some(isOff));
  if (isSame && !isOver(delivery, timing.nowMs)) return admitted;
  return admit(delivery, lookup, timing, isOff);
}

/**
 * Returns whether a possibly outdated `config` must not decide this: the decision would end the
 * delivery, or the delivery was made with a later version of its destination.
 */
export function needsCurrentConfig(
  delivery: Delivery,
  lookup: Lookup,
  { kind }: Pick<Admission, 'kind'>,
): boolean {
  if (delivery.recalled === 'cancel') return false;
  if (kind === 'cancelled' || kind === 'dead') return true;
  return 'version' in lookup && lookup.version < (delivery.destinationVersion ?? 0);
}

/**
 * Returns whether the window for sending is over. A delivery that waited for Waypost alone gets its
 * window a second time.
 */
function isOver(delivery: Delivery, nowMs: number): boolean {
  return nowMs > delivery.expiresAt && !(delivery.attempt === 0 && delivery.final);
}

/**
 * Returns why a delivery ends with its window. If it was never tried, the reason is the endpoint's
 * wait.
 */
function endOf({ attempt, reason }: Delivery): DeadReason {
  return attempt === 0 && isEndpointWait(reason) ? reason : 'window_closed';
}

/**
 * Waits without an attempt, longer with each hop, so that a long hold costs few appends. A delivery
 * that is held by intent ends with its window. A delivery that this process cannot send is owed an
 * attempt.
 */
function hold(delivery: Delivery, reason: DivertReason, timing: Timing): NotTried {
  const { nowMs, tiersMs } = timing;
  const isEnd = nowMs > delivery.expiresAt && (reason === 'paused' || isOver(delivery, nowMs));
  const expectedWaitMs = tiersMs[Math.min(delivery.hop, tiersMs.length - 1)] ?? 0;
  const wait = isEnd
    ? undefined
    : park({ nowMs, expectedWaitMs, returnBy: returnBy(delivery, timing), tiersMs });
  return wait ? { kind: 'diverted', reason, wait } : { kind: 'dead', reason: 'window_closed' };
}

/**
 * Sends a delivery that only a later `config` can decide through a tier, because too many wait for
 * it. No outdated `config` ends it.
 */
export function waitForConfig(delivery: Delivery, timing: Timing): NotTried {
  const held = hold(delivery, 'destination_unreadable', timing);
  return held.kind === 'diverted' ? held : handOver(timing);
}

/**
 * Returns until when a delivery that is not sent may wait, ms since 1970. One that is owed an
 * attempt gets its window a second time.
 */
function returnBy({ expiresAt }: Delivery, { nowMs, windowMs }: Timing): number {
  return lastReturnAt(nowMs > expiresAt ? expiresAt + windowMs : expiresAt, windowMs);
}

/**
 * Returns the wait of a delivery after a failed attempt, by the plan of its destination or by the
 * tiers; undefined: its window is over.
 * @param askedMs what the endpoint asked for
 */
export function nextTry(
  delivery: Delivery,
  askedMs: number | undefined,
  timing: Timing,
): Wait | undefined {
  const { nowMs, tiersMs, delaysMs = tiersMs } = timing;
  const at = next(delaysMs, delivery.attempt + 1, askedMs ?? 0, nowMs, delivery.expiresAt);
  return at === undefined ? undefined : waitUntil(at, boundsOf(delivery, timing));
}

/**
 * Returns the delivery through the shortest tier, because this process is stopping and cannot hand
 * it back, or holds too many that wait because of a deletion.
 */
export function handOver({ nowMs, tiersMs }: Timing): NotTried & { kind: 'diverted' } {
  const tierMs = Math.min(...tiersMs);
  return {
    kind: 'diverted',
    reason: 'handed_over',
    wait: { tierMs, nextAttemptAt: nowMs + tierMs },
  };
}

const ROUND = {
  lane_full: 'down',
  rate_limited: 'down',
  circuit_open: 'up',
  retry_after: 'up',
  token: 'down',
  proxy: 'down',
} as const;

/**
 * Diverts a delivery that no lane accepts to a tier, by the lane that would accept it first, or to
 * the dead letters if no tier ends within its window. A delivery that was never tried and waited
 * for Waypost alone until its window ended gets the window a second time: the backlog after an
 * outage of Waypost fills lanes too.
 *
 * @param refusals from its lanes, at least one
 */
export function divert(delivery: Delivery, refusals: readonly Refusal[], timing: Timing): NotTried {
  const { nowMs, tiersMs } = timing;
  const { reason, waitMs: expectedWaitMs } = refusals.reduce((a, b) =>
    b.waitMs < a.waitMs ? b : a,
  );
  const wait = isOver(delivery, nowMs)
    ? undefined
    : park({
        nowMs,
        expectedWaitMs,
        returnBy: returnBy(delivery, timing),
        tiersMs: parkTiers(tiersMs),
        round: ROUND[reason],
      });
  if (wait) return { kind: 'diverted', reason, wait };
  return { kind: 'dead', reason: delivery.attempt === 0 ? reason : 'window_closed' };
}
