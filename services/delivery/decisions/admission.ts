import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { type Delivery } from '../../../shared/model/delivery';
import { afterPlannedFailure, plannedHop, type RetryPlan } from '../../../shared/model/retry-plan';
import {
  afterFailure,
  hop,
  lastReturnAt,
  park,
  parkTiers,
  type Next,
  type Wait,
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
 * Decides whether a delivery is tried, waits or ends: when it was read, when its request is about to
 * be sent, and when no lane accepts it.
 */

export type Admission = Admitted | NotTried;

/** The delivery may be tried. */
export interface Admitted {
  kind: 'try';
  /** the version of its destination that admitted it */
  lookup: OpenLookup;
  /** its URLs that are on and have not rejected the delivery, at least one */
  open: Endpoint[];
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
 * carries this grant from hop to hop. `divert` and `hold` write the reason of the last wait into
 * the record.
 */
export function isOwedOneTry(delivery: Delivery, nowMs: number): boolean {
  return delivery.attempt === 0 && nowMs > delivery.expiresAt && !isEndpointWait(delivery.reason);
}

/** Returns whether a user sent it now. */
export function isRequested({ recalled }: Delivery): boolean {
  return recalled === 'retry' || recalled === 'retry_all';
}

/** Returns how a delivery asks an endpoint that is away: a user sends it now, or all that wait. */
export function insistenceOf({ recalled }: Delivery): Job['insists'] {
  if (recalled === 'retry') return 'always';
  return recalled === 'retry_all' ? 'sometimes' : undefined;
}

/**
 * Removes what its last wait planned for a delivery that a user sends before: the attempt is one of
 * the same plan, and the last one only if the window has no room for another.
 */
export function withoutPlan(delivery: Delivery, nowMs: number): void {
  if (!isRequested(delivery)) return;
  delete delivery.notBefore;
  if (nowMs <= delivery.expiresAt) delete delivery.final;
}

/** Returns whether nothing may be sent to a URL. */
type IsOff = (endpoint: Endpoint) => boolean;

/**
 * @param delivery with `final` set if `isOwedOneTry` returned true when it was read
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
    (endpoint) => !delivery.closed.includes(endpoint.hash),
  );
  if (willing.length === 0) return { kind: 'dead', reason: 'rejected' };
  // A test goes to a URL that is off too: it shows whether the URL can be switched on again.
  if (delivery.test) return { kind: 'try', lookup, open: willing };
  const open = willing.filter((endpoint) => !isOff(endpoint));
  if (open.length === 0) return { kind: 'dead', reason: 'url_disabled' };

  if (destination.paused) return hold(delivery, 'paused', timing);
  if (isOver(delivery, nowMs)) return { kind: 'dead', reason: endOf(delivery) };
  const isEarly =
    delivery.notBefore !== undefined && delivery.notBefore > nowMs && nowMs < delivery.expiresAt;
  return (
    (isEarly ? hopOn(delivery, delivery.notBefore ?? 0, timing) : undefined) ?? {
      kind: 'try',
      lookup,
      open,
    }
  );
}

/**
 * Returns the next tier of a delivery that came back before its wait was over: a `Retry-After`, or
 * a delay of a plan, which may have changed since. Undefined if no tier of a plan's delay fits into
 * the window: it is tried now.
 */
function hopOn(delivery: Delivery, notBefore: number, timing: Timing): NotTried | undefined {
  const { nowMs, tiersMs, windowMs, delaysMs } = timing;
  const window = { nowMs, tiersMs, expiresAt: lastReturnAt(delivery.expiresAt, windowMs) };
  if (delaysMs === undefined && delivery.reason !== 'backoff') {
    return waitOrEnd('retry_after', hop({ ...window, notBefore }));
  }
  const next = plannedHop({ ...window, final: delivery.final === true }, notBefore);
  return next && waitOrEnd(delivery.reason === 'retry_after' ? 'retry_after' : 'backoff', next);
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
  const { nowMs, tiersMs, windowMs } = timing;
  const isLate = nowMs > delivery.expiresAt;
  if (isLate && (reason === 'paused' || isOver(delivery, nowMs))) {
    return { kind: 'dead', reason: 'window_closed' };
  }
  const expiresAt = lastReturnAt(
    isLate ? delivery.expiresAt + windowMs : delivery.expiresAt,
    windowMs,
  );
  const expectedWaitMs = tiersMs[Math.min(delivery.hop, tiersMs.length - 1)] ?? 0;
  return waitOrEnd(reason, park({ nowMs, expectedWaitMs, expiresAt, tiersMs }));
}

/**
 * Returns the wait of a delivery after a failed attempt: by its destination's plan, or by the
 * tiers.
 */
export function nextTry(
  delivery: Delivery,
  retryAfterMs: number | undefined,
  timing: Timing,
): Next {
  const { nowMs, tiersMs, windowMs, delaysMs } = timing;
  const window = {
    nowMs,
    tiersMs,
    expiresAt: lastReturnAt(delivery.expiresAt, windowMs),
    final: delivery.final === true,
  };
  const failed = { attempt: delivery.attempt + 1, retryAfterMs };
  return delaysMs
    ? afterPlannedFailure(window, { delaysMs, ...failed })
    : afterFailure({ ...window, ...failed });
}

/**
 * Returns the delivery through the shortest tier to another process, because this one is stopping
 * and cannot hand it back.
 */
export function handOver({ nowMs, tiersMs }: Timing): NotTried & { kind: 'diverted' } {
  const tierMs = Math.min(...tiersMs);
  return {
    kind: 'diverted',
    reason: 'handed_over',
    wait: { kind: 'wait', tierMs, nextAttemptAt: nowMs + tierMs },
  };
}

const ROUND = {
  lane_full: 'nearest',
  rate_limited: 'nearest',
  circuit_open: 'down',
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
export function divert(
  delivery: Delivery,
  refusals: readonly Refusal[],
  { nowMs, tiersMs, windowMs }: Timing,
): NotTried {
  const { attempt, expiresAt } = delivery;
  const { reason, waitMs: expectedWaitMs } = refusals.reduce((a, b) =>
    b.waitMs < a.waitMs ? b : a,
  );
  const end = { kind: 'dead', reason: attempt === 0 ? reason : 'window_closed' } as const;
  if (isOver(delivery, nowMs)) return end;
  const endsAt = nowMs > expiresAt ? expiresAt + windowMs : expiresAt;
  const window = { nowMs, expiresAt: lastReturnAt(endsAt, windowMs), tiersMs: parkTiers(tiersMs) };
  const next = park({ ...window, expectedWaitMs, round: ROUND[reason] });
  return next.kind === 'closed' ? end : { kind: 'diverted', reason, wait: next };
}

function waitOrEnd(reason: DivertReason, next: Next): NotTried {
  return next.kind === 'closed'
    ? { kind: 'dead', reason: 'window_closed' }
    : { kind: 'diverted', reason, wait: next };
}
