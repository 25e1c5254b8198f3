import { type Delivery, type Overview } from '../../shared/api/operations';
import { isUnderWay, type Reason } from '../../shared/model/reasons';

/**
 * Says what a waiting delivery waits for. The API does not tell it, so the reason decides here, and
 * nowhere else in the command line. Pure.
 */

export interface GoesOn {
  /**
   * - `at`: the next attempt is at `at`; without it, as soon as Waypost comes to it
   * - `not_before`: something must free up first; not before `at`, if it is known
   * - `on_answer`: the endpoint, its token endpoint or its proxy must answer first
   * - `on_release`: somebody must act first
   */
  when: 'at' | 'not_before' | 'on_answer' | 'on_release';
  at: string | null;
  /** the last failure that is known of the destination */
  lastCheck: LastCheck | null;
  /** later by the length of a pause; null: it differs among the deliveries of a destination */
  givenUpAt: string | null;
}

export type DestinationRow = Overview['data'][number];
type LastCheck = NonNullable<DestinationRow['lastError']>;
type Waiting = Pick<
  Delivery,
  'status' | 'reason' | 'acceptedAt' | 'nextAttemptAt' | 'expiresAt' | 'attemptsMade'
>;

/** What is known of the destination; undefined: nothing, as without the right to read it. */
export type Around = Pick<DestinationRow, 'circuits' | 'lastError'> | undefined;

/** What ends a wait without a known time. The words complete "It goes on …". */
const WAITS: Readonly<Record<string, { when: GoesOn['when']; words: string }>> = {
  retry_after: {
    when: 'not_before',
    words: 'when the time is over that the endpoint asked for',
  },
  rate_limited: {
    when: 'not_before',
    words: 'when the rate limit of the destination lets it through',
  },
  lane_full: {
    when: 'not_before',
    words: 'when the endpoint has taken those before it',
  },
  handed_over: {
    when: 'not_before',
    words: 'when another process takes it over, within seconds',
  },
  circuit_open: {
    when: 'on_answer',
    words: 'as soon as the endpoint answers',
  },
  token: {
    when: 'on_answer',
    words: 'as soon as the token endpoint gives a token',
  },
  proxy: {
    when: 'on_answer',
    words: 'as soon as the proxy connects',
  },
  paused: {
    when: 'on_release',
    words: 'when somebody resumes the destination (waypost destinations resume)',
  },
  secrets_unreadable: {
    when: 'on_release',
    words: 'when the delivery service has the key that decrypts the destination',
  },
  destination_unreadable: {
    when: 'on_release',
    words: 'when the delivery service can read the destination',
  },
} satisfies Partial<Record<Reason, { when: GoesOn['when']; words: string }>>;

/** @returns null for a delivery that has ended */
export function goesOnOf(delivery: Waiting, around: Around): GoesOn | null {
  const { status, reason, acceptedAt, nextAttemptAt, expiresAt } = delivery;
  if (!isUnderWay(status)) return null;
  const lastCheck = around?.lastError ?? null;
  const goesOn = (when: GoesOn['when'], at: string | null): GoesOn => ({
    when,
    at,
    lastCheck,
    givenUpAt: expiresAt,
  });
  const isHeldBack = reason === 'backoff' && (around?.circuits.length ?? 0) > 0;
  const when = isHeldBack ? 'on_answer' : WAITS[reason ?? '']?.when;
  if (when) return goesOn(when, when === 'not_before' ? nextAttemptAt : null);
  return goesOn('at', reason === null ? acceptedAt : nextAttemptAt);
}

/** Completes "It goes on …". */
export function goesOnWords({ when, at, lastCheck }: GoesOn, reason: string | null, nowMs: number) {
  const words = WAITS[reason ?? '']?.words;
  switch (when) {
    case 'at':
      return at !== null && Date.parse(at) > nowMs ? `at ${at}` : 'as soon as Waypost comes to it';
    case 'not_before': {
      const what = words ?? 'as soon as there is room';
      return at === null ? what : `${what}, not before ${at}`;
    }
    case 'on_answer': {
      const known =
        lastCheck === null
          ? ''
          : ` (the last failure was at ${lastCheck.at}: ${lastCheck.message})`;
      return `${words ?? 'as soon as the endpoint answers'}${known}; Waypost keeps asking`;
    }
    case 'on_release':
      return words ?? 'once somebody has acted';
  }
}

const REASONS: Readonly<Record<string, string>> = {
  lane_full: 'its endpoint is slower than its deliveries arrive',
  rate_limited: 'the rate limit of its destination is reached',
  circuit_open: 'its endpoint is failing',
  retry_after: 'its endpoint asked for time',
  token: 'the token endpoint of its destination gives no token',
  proxy: 'the proxy of its destination does not connect',
  backoff: 'its last attempt failed',
  handed_over: 'the process that held it has stopped',
  paused: 'its destination is paused',
  secrets_unreadable: 'the secret key of Waypost does not decrypt its destination',
  destination_unreadable: 'the delivery service cannot read its destination',
  replayed: 'it was replayed and not tried since',
  retry_requested: 'somebody sent it now, and it is on its way',
  rejected: 'its endpoint refused it for good',
  window_closed: 'it could not be delivered within its window',
  url_disabled: 'its URL is switched off',
  aborted_by_receiver: 'its receiver asked not to get it again',
  unreadable: 'Waypost could not read its record',
  render_failed: 'its body or a header could not be rendered',
  too_large: 'Kafka refuses a record of its size',
  destination_disabled: 'its destination was disabled',
  destination_deleted: 'its destination was deleted',
  cancelled_by_user: 'somebody cancelled it',
  user_deleted: 'its user was deleted',
} satisfies Record<Reason, string>;

/** @param reason a newer Waypost may have written an unknown one */
export function reasonWords(reason: string): string {
  return REASONS[reason] ?? reason;
}
