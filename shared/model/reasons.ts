/**
 * The statuses of a delivery, and the reasons why it waits or has ended, as written to the headers
 * of deliveries and to their events. Each reason has a row in docs/operations/failures.md and a
 * label in the console, and each but `replayed` and `retry_requested` a metric series. The console
 * and the command line import this file, so it imports no schema.
 */

/**
 * | status             | meaning                                                                                      |
 * | ------------------ |
 * -------------------------------------------------------------------------------------------- |
 * | `waiting`          | not tried since it was accepted or replayed, and nothing holds it                            |
 * | `retrying`         | an attempt failed, and the next one follows                                                  |
 * | `held`             | waits without an attempt, before the first one or between two; its reason says for what      |
 * | `delivered`        | a URL accepted it                                                                            |
 * | `partly_delivered` | a URL accepted it, but another rejected or failed it, or was not called;
 * follows `delivered` |
 * | `dead`             | given up                                                                                     |
 * | `cancelled`        | ended by a user, or because its destination was deleted or switched off                      |
 */
export const DELIVERY_STATUSES = [
  'waiting',
  'retrying',
  'held',
  'delivered',
  'partly_delivered',
  'dead',
  'cancelled',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const OPEN_STATUSES = ['waiting', 'retrying', 'held'] as const;

/** Returns whether a delivery has no final status yet. */
export function isUnderWay(status: DeliveryStatus | undefined): boolean {
  return (OPEN_STATUSES as readonly (string | undefined)[]).includes(status);
}

/** Returns whether a URL accepted the delivery. */
export function isDelivered(status: DeliveryStatus | undefined): boolean {
  return status === 'delivered' || status === 'partly_delivered';
}

/** Returns the statuses that a filter finds: `delivered` also finds what was partly delivered. */
export function statusesOf(filter: DeliveryStatus): readonly DeliveryStatus[] {
  return filter === 'delivered' ? ['delivered', 'partly_delivered'] : [filter];
}

/** Returns whether a filter finds a status. */
export function findsStatus(filter: DeliveryStatus, status: DeliveryStatus): boolean {
  return statusesOf(filter).includes(status);
}

/**
 * Returns the word for the result of a test: it is sent once, so a failure that would be retried is
 * one as well.
 */
export function testWord(result: 'delivered' | 'retry' | 'rejected' | 'dead' | 'cancelled') {
  return result === 'delivered' || result === 'cancelled' ? result : 'failed';
}

/**
 * Returns the word for the result at one URL: nothing retries a failure once another URL has
 * accepted the delivery.
 */
export function urlWord(
  url: 'delivered' | 'retry' | 'rejected',
  attempt: 'delivered' | 'retry' | 'rejected',
) {
  return url === 'retry' && attempt === 'delivered' ? 'failed' : url;
}

/** The reason of a `waiting` event by control: the delivery was replayed. */
export const REPLAYED = 'replayed';
/**
 * The reason of a `waiting` event by retry: a user sends the delivery now, and it is on its way to
 * delivery.
 */
export const RETRY_REQUESTED = 'retry_requested';

/** The router cannot render the request, and there is no body (shared/render). */
export const RENDER_FAILED = 'render_failed';

/**
 * Waits caused by the endpoint rather than by Waypost: its full lane, its rate, its circuit, its
 * `Retry-After`, its token endpoint, and the proxy before it.
 */
const ENDPOINT_WAITS = [
  'lane_full',
  'rate_limited',
  'circuit_open',
  'retry_after',
  'token',
  'proxy',
] as const;
/** Waits after a failed attempt. */
export const RETRY_REASONS = ['backoff', 'retry_after'] as const;
/** Waits without an attempt. */
export const DIVERT_REASONS = [
  ...ENDPOINT_WAITS,
  // A wait of a retry plan goes through several tiers.
  'backoff',
  'handed_over',
  'paused',
  'secrets_unreadable',
  'destination_unreadable',
] as const;
/**
 * Waits without an attempt that hold nothing back: the delivery returns to the flow, or its delay
 * continues.
 */
const PASSING_WAITS: readonly string[] = ['backoff', 'handed_over', REPLAYED, RETRY_REQUESTED];

/**
 * Returns the status of a delivery that waits without an attempt.
 * @param made number of attempts
 */
export function waitStatus(reason: string, made: number): DeliveryStatus {
  if (!PASSING_WAITS.includes(reason)) return 'held';
  return made > 0 ? 'retrying' : 'waiting';
}

/** `backoff` and `retry_after` are in it twice. */
export const WAIT_REASONS = [
  ...RETRY_REASONS,
  ...DIVERT_REASONS,
  REPLAYED,
  RETRY_REQUESTED,
] as const;
/**
 * Apart from the waits caused by the endpoint, no name is also a wait's: the reason alone would not
 * say which it is. `unreadable` is only in the headers of a dead letter: its delivery is unknown,
 * so it has no event.
 */
export const DEAD_REASONS = [
  'rejected',
  'window_closed',
  ...ENDPOINT_WAITS,
  // All its URLs that could take it are switched off.
  'url_disabled',
  // The receiver asked for it in a response.
  'aborted_by_receiver',
  'unreadable',
  RENDER_FAILED,
] as const;
export const CANCEL_REASONS = [
  'destination_disabled',
  'destination_deleted',
  'cancelled_by_user',
] as const;

export type EndpointWait = (typeof ENDPOINT_WAITS)[number];
export type RetryReason = (typeof RETRY_REASONS)[number];
export type DivertReason = (typeof DIVERT_REASONS)[number];
type WaitReason = (typeof WAIT_REASONS)[number];
export type DeadReason = (typeof DEAD_REASONS)[number];
export type CancelReason = (typeof CANCEL_REASONS)[number];
export type Reason = WaitReason | DeadReason | CancelReason;

/**
 * @param reason as read from a record: another version of Waypost may have written an unknown one
 */
export function isEndpointWait(reason: string | undefined): reason is EndpointWait {
  return (ENDPOINT_WAITS as readonly (string | undefined)[]).includes(reason);
}
