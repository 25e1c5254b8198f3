import { MOST_COUNTED, MOST_REACHED } from '../../../shared/api/operation';
import { ALERTS_ID, type Role } from '../../../shared/model/config';
import { type Reason } from '../../../shared/model/reasons';
import { text } from '../texts';
import { count } from '../texts/counts';
import { dayAndMonth, dayMonthAndYear, hourAndMinute, hourMinuteAndSecond } from '../texts/moments';

/** Labels for the codes of the API. Pure. */

const words = text.lib.labels;

export { count };

export const CALL_TYPES = ['track', 'identify', 'page', 'screen', 'group', 'alias'] as const;
export const TYPES = [...CALL_TYPES, 'delete'] as const;

const REASONS = words.reasons satisfies Record<Reason, string>;

/** An unknown code appears as it is. */
export function reasonInWords(reason: string | null): string {
  if (reason === null) return '';
  return (REASONS as Readonly<Record<string, string>>)[reason] ?? reason.replaceAll('_', ' ');
}

const STATES: Readonly<Record<string, string>> = words.states;

/**
 * Labels a status, a state, an outcome, an action or a kind of the API. An unknown code appears as
 * it is.
 */
export function stateInWords(code: string): string {
  return STATES[code] ?? code.replaceAll('_', ' ');
}

/** Labels a role of a session or a token. */
export function roleInWords(role: Role): string {
  return words.roles[role];
}

const OUTCOMES: Readonly<Record<string, string>> = words.outcomes;

/** Labels why a message did not get to a destination: a rule of routing, or a reason. */
export function whyNotInWords(reason: string): string {
  return OUTCOMES[reason] ?? reasonInWords(reason);
}

/** Labels the outcome of a message at a destination. */
export function outcomeInWords(outcome: string): string {
  return OUTCOMES[outcome] ?? outcome.replaceAll('_', ' ');
}

/**
 * Says how many destinations take an event by the current configuration; empty if there may be more
 * than were examined.
 */
export function takersInWords(destinations: readonly { outcome: string }[]): string {
  if (destinations.length >= MOST_REACHED) return '';
  const count = (of: string) => destinations.filter(({ outcome }) => outcome === of).length;
  const takers = count('routed');
  return takers === 0 && count('created_later') > 0 ? words.tooEarly : words.takers(takers);
}

/** Formats the distance of `2026-01-01T…` from now: "3 min ago", "in 12 s". */
export function relative(iso: string, nowMs: number): string {
  const ms = Date.parse(iso) - nowMs;
  const span = spanOf(Math.abs(ms));
  // The clocks of two machines may differ by a second or two.
  if (Math.abs(ms) < 1_500) return words.now;
  return ms < 0 ? words.ago(span) : words.in(span);
}

/** Formats a time in the time zone of the browser: "23:12:04", with the day unless it is today. */
export function absolute(iso: string, nowMs: number): string {
  const date = new Date(iso);
  const now = new Date(nowMs);
  const time = hourMinuteAndSecond(date);
  if (date.toDateString() === now.toDateString()) return time;
  const day = date.getFullYear() === now.getFullYear() ? dayAndMonth(date) : dayMonthAndYear(date);
  return `${day}, ${time}`;
}

/**
 * Formats a time in the time zone of the browser to the minute: "23:12", with the day unless today.
 */
export function clock(iso: string, nowMs: number): string {
  const date = new Date(iso);
  const time = hourAndMinute(date);
  if (date.toDateString() === new Date(nowMs).toDateString()) return time;
  return `${dayAndMonth(date)}, ${time}`;
}

export function capitalized(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
}

/** Formats a span in ms: "12 s", "3 min". */
export function spanOf(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return words.seconds(seconds);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return words.minutes(minutes);
  const hours = Math.round(minutes / 60);
  if (hours < 48) return words.hours(hours);
  return words.days(Math.round(hours / 24));
}

/** Formats a latency in ms. */
export function latency(ms: number | null | undefined): string {
  if (ms == null) return '–';
  if (ms < 1_000) return words.milliseconds(Math.round(ms));
  if (ms < 60_000) return words.seconds(short(ms / 1_000));
  return ms < 3_600_000 ? words.minutes(short(ms / 60_000)) : words.hours(short(ms / 3_600_000));
}

/** One digit after the point, unless it is 0. */
function short(n: number): string {
  return n.toFixed(1).replace('.0', '');
}

/** Says how long a destination failed; empty for other notices. */
export function noticeInWords(
  { kind, at, since, endedAt }: { kind: string; at: string; since: string; endedAt: string | null },
  nowMs: number,
): string {
  const span = (until: number) => spanOf(until - Date.parse(since));
  if (kind === 'recovered') return words.recoveredAfter(span(Date.parse(at)));
  if (kind !== 'failing') return '';
  return endedAt === null
    ? words.failingOngoing(span(nowMs))
    : words.failedFor(span(Date.parse(endedAt)));
}

/** The items of a page, unless a request names another number. */
const PAGE = 50;

/**
 * Says which items of a list are shown: "51–100 of 1,234". @param nth number of the page, from 1
 */
export function pageInWords(
  nth: number,
  rows: number,
  total: { count: number; exact: boolean },
): string {
  if (rows === 0) return '';
  const [first, last] = [(nth - 1) * PAGE + 1, (nth - 1) * PAGE + rows];
  // New items may have come since they were counted.
  const all = count(Math.max(total.count, last));
  const more =
    total.count >= MOST_COUNTED ? words.moreThan(count(MOST_COUNTED)) : words.atLeast(all);
  return words.page(count(first), count(last), total.exact ? all : more);
}

/** Formats a share of attempts; null: there were none. */
export function rateInWords(rate: number | null): string {
  if (rate === null) return words.noAttempts;
  // Never 100 % if an attempt failed.
  return `${(Math.floor(rate * 1_000) / 10).toFixed(1).replace('.0', '')} %`;
}

/** Formats a rate. Some are too small for the one digit that is shown. */
export function perMinuteInWords(n: number): string {
  if (n > 0 && n < 0.1) return words.belowATenth;
  return n < 100 ? n.toFixed(1) : count(Math.round(n));
}

const CAUSES: Readonly<Record<string, string>> = words.causes;

/** OpenSSL's codes, in words. */
const CERTIFICATES: readonly (readonly [code: RegExp, words: string])[] = [
  [/SELF_SIGNED_CERT/, text.destination.attemptText.selfSigned],
  [/CERT_HAS_EXPIRED/, text.destination.attemptText.expired],
  [/ERR_TLS_CERT_ALTNAME_INVALID/, text.destination.attemptText.otherHostName],
];

/** Returns what is wrong with a certificate; undefined: the message does not say. */
export function certificateInWords(message: string): string | undefined {
  return CERTIFICATES.find(([known]) => known.test(message))?.[1];
}

/** Says in words why a request failed. An unknown cause appears as the API tells it. */
export function causeInWords(error: {
  status: number | null;
  code: string | null;
  message: string;
}): string {
  if (error.status !== null) return words.answered(error.status);
  return certificateInWords(error.message) ?? CAUSES[error.code ?? ''] ?? error.message;
}

const NO_RESPONSES: Readonly<Record<string, string>> = words.noResponses;

/** Returns the status of a response, or in two words why there was none. */
export function answerInShort(
  status: number | null | undefined,
  code: string | null | undefined,
): string {
  if (status != null) return String(status);
  return code == null ? '–' : (NO_RESPONSES[code] ?? code);
}

/**
 * Converts the value of `<input type="datetime-local">` to ISO and back; undefined if it is empty
 * or invalid.
 */
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

/** Longer addresses are cut in the middle: their ends differ where their hosts are the same. */
const MOST_OF_URL = 16;
const END_OF_URL = 10;

/** Returns a URL without its scheme, cut in the middle. */
export function urlInShort(url: string): string {
  const address = url.replace(/^https?:\/\//, '');
  if (address.length <= MOST_OF_URL) return address;
  return `${address.slice(0, MOST_OF_URL - END_OF_URL - 1)}…${address.slice(-END_OF_URL)}`;
}

/**
 * Returns the path of a destination's page. The user cannot edit the webhook of the alerts as a
 * destination.
 */
export function placeOf(destination: string): string {
  return destination === ALERTS_ID ? '/alerts' : `/destinations/${destination}`;
}
