import { type GoesOn, type Overview } from '../../shared/api/operations';
import { type Reason } from '../../shared/model/reasons';

/**
 * Says in words why a delivery waits or has ended, and what a waiting one waits for, as the API tells
 * it (`goesOn`). Pure.
 */

export type DestinationRow = Overview['data'][number];

/** What must come first. The words complete "It goes on …". */
const WAITS: Readonly<Record<string, string>> = {
  retry_after: 'when the time is over that the endpoint asked for',
  rate_limited: 'when the rate limit of the destination lets it through',
  lane_full: 'when the endpoint has taken those before it',
  handed_over: 'when a process takes it again, within seconds',
  circuit_open: 'as soon as the endpoint answers',
  token: 'as soon as the token endpoint gives a token',
  proxy: 'as soon as the proxy connects',
} satisfies Partial<Record<Reason, string>>;

/** What somebody must do first, unless the destination is paused. */
const RELEASES: Readonly<Record<string, string>> = {
  secrets_unreadable: 'when the delivery service has the key that decrypts the destination',
  destination_unreadable: 'when the delivery service can read the destination',
} satisfies Partial<Record<Reason, string>>;
const RESUME = 'when somebody resumes the destination (waypost destinations resume)';

/** Completes "It goes on …". */
export function goesOnWords(goesOn: GoesOn, reason: string | null, nowMs: number): string {
  const { when, at, lastCheck, nextCheckBy } = goesOn;
  const words = WAITS[reason ?? ''];
  const isComing = at !== null && Date.parse(at) > nowMs;
  switch (when) {
    case 'at':
      return isComing ? `at ${at}` : 'as soon as Waypost comes to it';
    case 'not_before': {
      const what = words ?? 'as soon as there is room';
      // It was due, and has to wait for the same again.
      const first = at === null ? '' : `; first planned for ${at}`;
      return isComing ? `${what}, not before ${at}` : `${what}${first}`;
    }
    case 'on_answer': {
      const what = words ?? 'as soon as the endpoint answers';
      const failure =
        lastCheck === null
          ? ''
          : ` (the last failure was at ${lastCheck.at}: ${lastCheck.message})`;
      const check = nextCheckBy === null ? '' : `; the next check is ${within(nextCheckBy, nowMs)}`;
      return `${what}${isComing ? `, not before ${at}` : ''}${failure}${check}`;
    }
    case 'on_release':
      return RELEASES[reason ?? ''] ?? RESUME;
  }
}

/** The same in the column of a table. */
export function goesOnInShort({ when, at, nextCheckBy }: GoesOn, nowMs: number): string {
  const isComing = at !== null && Date.parse(at) > nowMs;
  switch (when) {
    case 'at':
      return isComing ? `at ${at}` : 'now';
    case 'not_before':
      return isComing ? `not before ${at}` : 'in its turn';
    case 'on_answer':
      return nextCheckBy === null
        ? 'when it answers'
        : `when it answers; next check ${within(nextCheckBy, nowMs)}`;
    case 'on_release':
      return 'when somebody acts';
  }
}

/** The latest time moves on while nothing happens, so a time of day would look like a promise. */
function within(time: string, nowMs: number): string {
  const seconds = Math.max(1, Math.ceil((Date.parse(time) - nowMs) / 1_000));
  return seconds <= 120
    ? `within ${String(seconds)} s`
    : `within ${String(Math.ceil(seconds / 60))} min`;
}

const REASONS: Readonly<Record<string, string>> = {
  lane_full: 'its endpoint is slower than its deliveries arrive',
  rate_limited: 'the rate limit of its destination is reached',
  circuit_open: 'its endpoint is failing',
  retry_after: 'its endpoint asked for time',
  token: 'the token endpoint of its destination gives no token',
  proxy: 'the proxy of its destination does not connect',
  backoff: 'its last attempt failed',
  handed_over: 'the process that held it has stopped, or held too many',
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
