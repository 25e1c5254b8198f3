import { type Delivery } from '../../shared/domain/delivery';
import { hop, lastReturnAt, park, parkTiers, type Next, type Wait } from '../../shared/domain/schedule';
import { type Refusal } from './job';
import { type Lookup, type Target } from './targets';

/** What becomes of a delivery that has just been read: decided before any lane is asked. */

export type Admission =
  | { kind: 'try'; open: Target[] }
  /** off or deleted: it gets nothing more */
  | { kind: 'cancel'; reason: 'destination_deleted' | 'destination_disabled' }
  | { kind: 'bury'; reason: 'window_closed' | 'rejected' | 'circuit_open' | 'retry_after' }
  /** not now: to a tier, without an attempt */
  | { kind: 'hold'; reason: HoldReason; wait: Wait };

type HoldReason = Refusal['reason'] | 'paused' | 'secrets_unreadable';

/** @param tiersMs as configured */
export function admit(delivery: Delivery, lookup: Lookup, context: { nowMs: number; tiersMs: number[] }): Admission {
  if (lookup.kind === 'deleted') return { kind: 'cancel', reason: 'destination_deleted' };
  if (lookup.kind === 'sealed') return hold(delivery, 'secrets_unreadable', context);

  const { destination } = lookup;
  const { nowMs, tiersMs } = context;
  if (!destination.enabled && !delivery.test) return { kind: 'cancel', reason: 'destination_disabled' };

  const open = destination.targets.filter((target) => !delivery.closed.includes(target.hash));
  if (open.length === 0) return { kind: 'bury', reason: 'rejected' };
  if (delivery.test) return { kind: 'try', open };

  // However late it is, it is tried: no wait is planned to end after the window, and our own outage must not kill it.
  if (destination.paused) return hold(delivery, 'paused', context);
  if (delivery.notBefore !== undefined && delivery.notBefore > nowMs && nowMs < delivery.expiresAt) {
    const { notBefore } = delivery;
    const expiresAt = lastReturnAt(delivery.expiresAt, tiersMs);
    return waitOrEnd('retry_after', hop({ nowMs, notBefore, expiresAt, tiersMs }));
  }
  return { kind: 'try', open };
}

/**
 * Waits without an attempt, longer with each hop, so that a long hold costs few appends. What is held by intent ends
 * with its window.
 */
function hold(
  delivery: Delivery,
  reason: HoldReason,
  { nowMs, tiersMs }: { nowMs: number; tiersMs: number[] },
): Admission {
  const { attempt, hop: hops } = delivery;
  if (nowMs > delivery.expiresAt) return { kind: 'bury', reason: 'window_closed' };
  const expiresAt = lastReturnAt(delivery.expiresAt, tiersMs);
  const expectedWaitMs = tiersMs[Math.min(hops, tiersMs.length - 1)] ?? 0;
  return waitOrEnd(reason, park({ nowMs, expectedWaitMs, expiresAt, attempt, tiersMs }));
}

const ROUND = { lane_full: 'nearest', circuit_open: 'down', retry_after: 'up' } as const;

/**
 * No lane takes it: to a tier, by the lane that would take it first. Waits without an attempt, but for one past its
 * window whose endpoints have been away for as long as a window lasts: that one is given up, with the reason. (That its
 * circuits were found open each time it came by would prove nothing: they may have been closed meanwhile.)
 *
 * @param refusals of its lanes, at least one
 */
export function divert(
  delivery: Delivery,
  refusals: readonly [Refusal, ...Refusal[]],
  { nowMs, tiersMs }: { nowMs: number; tiersMs: number[] },
): Exclude<Admission, { kind: 'try' }> {
  const { acceptedAt, expiresAt, attempt } = delivery;
  const { reason, waitMs: expectedWaitMs } = refusals.reduce((a, b) => (b.waitMs < a.waitMs ? b : a));
  const away = refusals.every(({ awayMs }) => awayMs !== undefined && awayMs >= expiresAt - acceptedAt);
  if (attempt === 0 && nowMs > expiresAt && reason !== 'lane_full' && away) return { kind: 'bury', reason };
  if (attempt > 0 && nowMs > expiresAt && !delivery.final) {
    // Late by our doing, and perhaps nobody has asked its endpoint meanwhile: it comes back when someone has.
    const tierMs = Math.min(...tiersMs);
    return { kind: 'hold', reason, wait: { kind: 'wait', tierMs, nextAttemptAt: nowMs + tierMs, final: true } };
  }
  const frame = { nowMs, expiresAt: lastReturnAt(expiresAt, tiersMs), tiersMs: parkTiers(tiersMs) };
  return waitOrEnd(reason, park({ ...frame, expectedWaitMs, attempt, round: ROUND[reason] }));
}

function waitOrEnd(reason: HoldReason, next: Next): Exclude<Admission, { kind: 'try' }> {
  return next.kind === 'closed' ? { kind: 'bury', reason: 'window_closed' } : { kind: 'hold', reason, wait: next };
}
