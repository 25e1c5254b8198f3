import { type Reason } from '../../shared/model/reasons';

/** Says in words why a delivery waits or has ended. Pure. */

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
