import { MOST_COUNTED } from '../../../shared/api/operation';
import { ALERTS_ID } from '../../../shared/model/config';
import { type Reason } from '../../../shared/model/reasons';

/** Labels for the codes of the API. Pure. */

export const CALL_TYPES = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export const TYPES = [...CALL_TYPES, 'delete'] as const;

const REASONS = {
  circuit_open: 'The endpoint is failing. Waypost checks it every few seconds and resumes when it recovers',
  proxy: 'The egress proxy of the destination does not connect to it',
  token: 'The token endpoint of the destination gives no OAuth2 token',
  lane_full: 'Queued: the endpoint is slow',
  handed_over: 'The process that held it has stopped. Another one will send it',
  rate_limited: 'Queued: the rate limit of the destination is reached',
  retry_after: 'The endpoint sent Retry-After',
  backoff: 'The last attempt failed. The next one follows after a pause',
  paused: 'The destination is paused',
  rejected: 'The endpoint rejected it. It is not retried',
  window_closed: 'It could not be delivered within its window',
  destination_disabled: 'The destination was disabled',
  secrets_unreadable: 'The secret key of this installation cannot decrypt the destination',
  destination_unreadable: 'A newer version of Waypost wrote the destination. Upgrade the delivery service',
  replayed: 'It was replayed and has not been tried yet',
  retry_requested: 'Someone sent it now, and it is on its way',
  destination_deleted: 'The destination was deleted',
  cancelled_by_user: 'Someone cancelled it',
  unreadable: 'Waypost could not read its record',
  render_failed: 'Its body or a header could not be rendered. Correct the destination, then replay it',
} as const satisfies Record<Reason, string>;

/** An unknown code appears as it is. */
export function reasonInWords(reason: string | null): string {
  if (reason === null) return '';
  return (REASONS as Readonly<Record<string, string>>)[reason] ?? reason.replaceAll('_', ' ');
}

const OUTCOMES: Readonly<Record<string, string>> = {
  routed: 'routed',
  source_off: 'the source is disabled',
  blocked: 'the source blocks this event',
  excluded: 'the call excludes webhooks by its integrations',
  off: 'the destination is disabled',
  not_connected: 'the destination is not connected to this source',
  type: 'the destination does not accept this type',
  filtered: 'its filter does not match',
  filter_failed: 'filter error (treated as no match)',
};

/** Labels the outcome of a message at a destination. */
export function outcomeInWords(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome.replaceAll('_', ' ');
}

/** Formats the distance of `2026-01-01T…` from now: "3 min ago", "in 12 s". */
export function relative(iso: string, nowMs: number): string {
  const ms = Date.parse(iso) - nowMs;
  const span = spanOf(Math.abs(ms));
  // The clocks of two machines may differ by a second or two.
  if (Math.abs(ms) < 1_500) return 'now';
  return ms < 0 ? `${span} ago` : `in ${span}`;
}

/** Formats a time in the time zone of the browser: "23:12:04", with the day unless it is today. */
export function absolute(iso: string, nowMs: number): string {
  const date = new Date(iso);
  const time = date.toLocaleTimeString('en', {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  });
  if (date.toDateString() === new Date(nowMs).toDateString()) return time;
  const year = date.getFullYear() === new Date(nowMs).getFullYear() ? {} : ({ year: 'numeric' } as const);
  return `${date.toLocaleDateString('en', { day: 'numeric', month: 'short', ...year })}, ${time}`;
}

/** Formats a span in ms: "12 s", "3 min". */
export function spanOf(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** Formats a latency in ms. */
export function latency(ms: number | null | undefined): string {
  if (ms == null) return '–';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${short(ms / 1_000)} s`;
  return ms < 3_600_000 ? `${short(ms / 60_000)} min` : `${short(ms / 3_600_000)} h`;
}

/** One digit after the point, unless it is 0. */
function short(n: number): string {
  return n.toFixed(1).replace('.0', '');
}

export function count(n: number): string {
  return n.toLocaleString('en');
}

/** Says how long a destination failed; empty for other notices. */
export function noticeInWords(
  { kind, at, since, endedAt }: { kind: string; at: string; since: string; endedAt: string | null },
  nowMs: number,
): string {
  const span = (until: number) => spanOf(until - Date.parse(since));
  if (kind === 'recovered') return `Recovered after ${span(Date.parse(at))}.`;
  if (kind !== 'failing') return '';
  return endedAt === null ? `Failing for ${span(nowMs)}, ongoing.` : `Failed for ${span(Date.parse(endedAt))}.`;
}

/** The items of a page, unless a request names another number. */
const PAGE = 50;

/** Says which items of a list are shown: "51–100 of 1,234". @param nth number of the page, from 1 */
export function pageInWords(nth: number, rows: number, total: { count: number; exact: boolean }): string {
  if (rows === 0) return '';
  const [first, last] = [(nth - 1) * PAGE + 1, (nth - 1) * PAGE + rows];
  // New items may have come since they were counted.
  const all = count(Math.max(total.count, last));
  const more = total.count >= MOST_COUNTED ? `more than ${count(MOST_COUNTED)}` : `at least ${all}`;
  return `${count(first)}–${count(last)} of ${total.exact ? all : more}`;
}

/** Formats a share of attempts; null: there were none. */
export function rateInWords(rate: number | null): string {
  if (rate === null) return 'no attempts';
  // Never 100 % if an attempt failed.
  return `${(Math.floor(rate * 1_000) / 10).toFixed(1).replace('.0', '')} %`;
}

/** Names an error by its HTTP status, its code or its message. */
export function errorInShort(error: { status: number | null; code: string | null; message: string }): string {
  return error.status === null ? (error.code ?? error.message) : `HTTP ${error.status}`;
}

/** Formats a count: 1 notice, 2 notices. */
export function counted(n: number, what: string): string {
  return `${count(n)} ${what}${n === 1 ? '' : 's'}`;
}

/** Converts the value of `<input type="datetime-local">` to ISO and back; undefined if it is empty or invalid. */
export function isoOfLocal(local: string): string | undefined {
  const ms = local === '' ? NaN : new Date(local).getTime();
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

export function localOfIso(iso: string | null | undefined): string {
  if (iso == null || Number.isNaN(Date.parse(iso))) return '';
  const date = new Date(iso);
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** Returns the path of a destination's page. The user cannot edit the webhook of the alerts as a destination. */
export function placeOf(destination: string): string {
  return destination === ALERTS_ID ? '/alerts' : `/destinations/${destination}`;
}
