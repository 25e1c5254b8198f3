import { type GoesOn, type Overview } from '../../shared/api/operations';
import { type Reason } from '../../shared/model/reasons';

/** Says in words what a waiting delivery waits for, as the API tells it (`goesOn`). Pure. */

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
