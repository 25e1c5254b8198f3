/**
 * The statuses of a delivery, and the reasons why it waits or has ended, as written to the headers of deliveries and to
 * their events. Each reason has a row in docs/operations/failures.md and a label in the console, and each but `replayed`
 * a metric series. The console and the command line import this file, so it imports no schema.
 */

/** `waiting`: not tried yet since it was accepted or replayed; `retrying`: tried, and tried again. The others are final. */
export const DELIVERY_STATUSES = ['waiting', 'retrying', 'delivered', 'dead', 'cancelled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Returns whether a delivery has no final status yet. */
export function isUnderWay(status: DeliveryStatus | undefined): boolean {
  return status === 'waiting' || status === 'retrying';
}

/** The reason of a `waiting` event by control: the delivery was replayed. */
export const REPLAYED = 'replayed';

/** Waits caused by the endpoint rather than by Waypost: its full lane, its rate, its circuit, its `Retry-After`. */
const ENDPOINT_WAITS = ['lane_full', 'rate_limited', 'circuit_open', 'retry_after'] as const;
/** Waits after a failed attempt. */
export const RETRY_REASONS = ['backoff', 'retry_after'] as const;
/** Waits without an attempt. */
export const DIVERT_REASONS = [
  ...ENDPOINT_WAITS,
  'handed_over',
  'paused',
  'secrets_unreadable',
  'destination_unreadable',
] as const;
/** `retry_after` is in it twice. */
export const WAIT_REASONS = [...RETRY_REASONS, ...DIVERT_REASONS, REPLAYED] as const;
/**
 * Apart from the waits caused by the endpoint, no name is also a wait's: the reason alone would not say which it is.
 * `unreadable` is only in the headers of a dead letter: its delivery is unknown, so it has no event.
 */
export const DEAD_REASONS = ['rejected', 'window_closed', ...ENDPOINT_WAITS, 'unreadable'] as const;
export const CANCEL_REASONS = ['destination_disabled', 'destination_deleted'] as const;

export type EndpointWait = (typeof ENDPOINT_WAITS)[number];
export type RetryReason = (typeof RETRY_REASONS)[number];
export type DivertReason = (typeof DIVERT_REASONS)[number];
type WaitReason = (typeof WAIT_REASONS)[number];
export type DeadReason = (typeof DEAD_REASONS)[number];
export type CancelReason = (typeof CANCEL_REASONS)[number];
export type Reason = WaitReason | DeadReason | CancelReason;

/** @param reason as read from a record: another version of Waypost may have written an unknown one */
export function isEndpointWait(reason: string | undefined): reason is EndpointWait {
  return (ENDPOINT_WAITS as readonly (string | undefined)[]).includes(reason);
}
