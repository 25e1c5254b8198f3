/**
 * The statuses of a delivery, and the reasons why it waits or has ended, as written to the headers
 * of deliveries and to their events. Each reason has a row in docs/operations/failures.md and a
 * label in the console, and each but `replayed` and `retry_requested` a metric series. The console
 * and the command line import this file, so it imports no schema.
 */

/**
 * - `waiting`: not tried since it was accepted or replayed, and nothing holds it
 * - `retrying`: an attempt failed, and the next one follows
 * - `held`: waits without an attempt, before the first one or between two; its reason says for what
 * - `delivered`: a URL accepted it
 * - `partly_delivered`: a URL accepted it, but another rejected or failed it, or was not called;
 *   follows `delivered`
 * - `dead`: given up
 * - `cancelled`: ended by a user, or because its destination was deleted or switched off
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
export function isUnderWay(status: FilterStatus | undefined): boolean {
  return (OPEN_STATUSES as readonly (string | undefined)[]).includes(status);
}

/** Returns whether a URL accepted the delivery. */
export function isDelivered(status: DeliveryStatus | undefined): boolean {
  return status === 'delivered' || status === 'partly_delivered';
}

/** What deliveries are filtered by: a status, or `pending`, which finds whatever has not ended. */
export const FILTER_STATUSES = [...DELIVERY_STATUSES, 'pending'] as const;
export type FilterStatus = (typeof FILTER_STATUSES)[number];

/** Returns the statuses that a filter finds: `delivered` also finds what was partly delivered. */
export function statusesOf(filter: FilterStatus): readonly DeliveryStatus[] {
  if (filter === 'pending') return OPEN_STATUSES;
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

/** What ends a wait, in words about `at`, the time that the API shows with it. */
export const WAIT_END_WORDS = {
  at: 'the next attempt is at `at`',
  not_before:
    'room, a turn or the time that the endpoint asked for must come first, and `at` is the earliest time',
  on_answer:
    'the endpoint, its token endpoint or its proxy must answer first; `at` is null, or the earliest time after that',
  on_release: 'somebody must act',
} as const;
export type WaitEnd = keyof typeof WAIT_END_WORDS;
export const WAIT_ENDS = Object.keys(WAIT_END_WORDS) as WaitEnd[];

/** The roles of a reason. */
interface ReasonFacts {
  /** of a wait after a failed attempt */
  retry?: true;
  /** of a wait in a tier without an attempt */
  divert?: true;
  /**
   * of a wait that holds nothing back: the delivery returns to the flow, or its delay continues.
   * Any other wait is shown as `held`.
   */
  passing?: true;
  /** the endpoint causes the wait, not Waypost, and the delivery can end dead while it waits */
  endpoint?: true;
  /** of a wait: what ends it */
  ends?: WaitEnd;
  /** of an end without success */
  dead?: true;
  /** of a cancellation */
  cancelled?: true;
}

/** A reason of a wait says what ends it. */
type WaitFacts = ReasonFacts & { ends: WaitEnd };
type EndFacts = ReasonFacts & {
  retry?: never;
  divert?: never;
  passing?: never;
  endpoint?: never;
  ends?: never;
};

/**
 * Every reason. Apart from the waits that the endpoint causes, no reason of an end is also one of a
 * wait: the reason alone would not say which it is.
 */
const REASONS = {
  lane_full: { divert: true, endpoint: true, dead: true, ends: 'not_before' },
  // The rate limit of the destination.
  rate_limited: { divert: true, endpoint: true, dead: true, ends: 'not_before' },
  circuit_open: { divert: true, endpoint: true, dead: true, ends: 'on_answer' },
  retry_after: { retry: true, divert: true, endpoint: true, dead: true, ends: 'not_before' },
  // The token endpoint gives no OAuth2 token.
  token: { divert: true, endpoint: true, dead: true, ends: 'on_answer' },
  // The egress proxy before the endpoint is away.
  proxy: { divert: true, endpoint: true, dead: true, ends: 'on_answer' },
  // A wait of a retry plan goes through several tiers: it is also one without an attempt.
  backoff: { retry: true, divert: true, passing: true, ends: 'at' },
  handed_over: { divert: true, passing: true, ends: 'not_before' },
  paused: { divert: true, ends: 'on_release' },
  secrets_unreadable: { divert: true, ends: 'on_release' },
  destination_unreadable: { divert: true, ends: 'on_release' },
  // Control writes a `waiting` event with it: the delivery was replayed.
  replayed: { passing: true, ends: 'at' },
  // Retry writes a `waiting` event with it: a user sends the delivery now, and it is on its way to
  // delivery.
  retry_requested: { passing: true, ends: 'at' },
  rejected: { dead: true },
  window_closed: { dead: true },
  // All its URLs that could take it are switched off.
  url_disabled: { dead: true },
  // The receiver asked for it in a response.
  aborted_by_receiver: { dead: true },
  // Only in the headers of a dead letter: its delivery is unknown, so it has no event.
  unreadable: { dead: true },
  // The router cannot render the request, and there is no body (shared/render).
  render_failed: { dead: true },
  // Kafka refuses its next record for good: its dead letter has no body
  // (shared/render/too-large.ts).
  too_large: { dead: true },
  destination_disabled: { cancelled: true },
  destination_deleted: { cancelled: true },
  cancelled_by_user: { cancelled: true },
  // The user or visitor of its call was deleted.
  user_deleted: { cancelled: true },
} as const satisfies Record<string, WaitFacts | EndFacts>;

export type Reason = keyof typeof REASONS;
type ReasonWith<Fact extends keyof ReasonFacts> = {
  [R in Reason]: Fact extends keyof (typeof REASONS)[R] ? R : never;
}[Reason];
export type EndpointWait = ReasonWith<'endpoint'>;
export type RetryReason = ReasonWith<'retry'>;
export type DivertReason = ReasonWith<'divert'>;
export type DeadReason = ReasonWith<'dead'>;
export type CancelReason = ReasonWith<'cancelled'>;

export const RETRY_REASONS = reasonsWith('retry');
export const DIVERT_REASONS = reasonsWith('divert');
/** Every reason of a wait. */
export const WAIT_REASONS = reasonsWith('ends');
export const DEAD_REASONS = reasonsWith('dead');
export const CANCEL_REASONS = reasonsWith('cancelled');

/** The reasons with which a delivery ends that has a history: `unreadable` records have none. */
export const END_REASONS = [...DEAD_REASONS, ...CANCEL_REASONS].filter(
  (reason) => reason !== 'unreadable',
);
export type EndReason = (typeof END_REASONS)[number];

export const REPLAYED = 'replayed' satisfies Reason;
export const RETRY_REQUESTED = 'retry_requested' satisfies Reason;
export const TOO_LARGE = 'too_large' satisfies Reason;
export const RENDER_FAILED = 'render_failed' satisfies Reason;

/**
 * @param reason as read from a record: another version of Waypost may have written an unknown one
 */
export function isEndpointWait(reason: string | undefined): reason is EndpointWait {
  return factsOf(reason)?.endpoint ?? false;
}

/**
 * Returns what ends a wait.
 * @param reason as read from a record; null: none yet. What ends an unknown one is unknown, so that
 *   it ends no earlier than planned
 */
export function waitEnd(reason: string | null): WaitEnd {
  return reason === null ? 'at' : (factsOf(reason)?.ends ?? 'not_before');
}

/**
 * Returns the status of a delivery that waits without an attempt.
 * @param reason as read from a record: an unknown one holds it
 * @param attemptsMade number of attempts
 */
export function waitStatus(reason: string, attemptsMade: number): DeliveryStatus {
  if (!factsOf(reason)?.passing) return 'held';
  return attemptsMade > 0 ? 'retrying' : 'waiting';
}

function factsOf(reason: string | undefined): ReasonFacts | undefined {
  return reason !== undefined && Object.hasOwn(REASONS, reason)
    ? REASONS[reason as Reason]
    : undefined;
}

function reasonsWith<Fact extends keyof ReasonFacts>(fact: Fact): readonly ReasonWith<Fact>[] {
  return (Object.keys(REASONS) as Reason[]).filter(
    (reason): reason is ReasonWith<Fact> => factsOf(reason)?.[fact] !== undefined,
  );
}
