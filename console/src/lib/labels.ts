import { ALERTS_ID } from '../../../shared/model/config';
import { type Reason } from '../../../shared/model/reasons';

/** Labels for the codes of the API. Pure. */

export const CALL_TYPES = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export const TYPES = [...CALL_TYPES, 'delete'] as const;

const REASONS = {
  circuit_open: 'The endpoint keeps failing. Waypost probes it and resumes when it responds',
  lane_full: 'More deliveries are waiting than the endpoint can take',
  handed_over: 'The process that held it has stopped. Another one will send it',
  rate_limited: 'More deliveries are waiting than maxPerSecond allows',
  retry_after: 'The endpoint sent Retry-After',
  backoff: 'The last attempt failed. The next one follows after a pause',
  paused: 'The destination is paused',
  rejected: 'The endpoint rejected it permanently',
  window_closed: 'It could not be delivered within its window',
  destination_disabled: 'The destination was switched off',
  secrets_unreadable: 'The secret key of this installation cannot decrypt the destination',
  destination_unreadable: 'A newer version of Waypost wrote the destination. Upgrade the delivery service',
  replayed: 'It was replayed and has not been tried yet',
  destination_deleted: 'The destination was deleted',
  unreadable: 'Waypost could not read its record',
} as const satisfies Record<Reason, string>;

/** An unknown code appears as it is. */
export function reasonInWords(reason: string | null): string {
  if (reason === null) return '';
  return (REASONS as Readonly<Record<string, string>>)[reason] ?? reason.replaceAll('_', ' ');
}

const OUTCOMES: Readonly<Record<string, string>> = {
  routed: 'delivered to it',
  source_off: 'the source is switched off',
  blocked: 'the source blocks this event',
  excluded: 'the call excludes webhooks by its integrations',
  off: 'the destination is switched off',
  not_connected: 'the destination is not connected to this source',
  type: 'the destination does not accept this type',
  filtered: 'its filter does not match',
  filter_failed: 'its filter cannot be evaluated and does not match',
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

function spanOf(ms: number): string {
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
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : spanOf(ms);
}

export function count(n: number): string {
  return n.toLocaleString('en');
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
