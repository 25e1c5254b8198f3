import { ExactNumber } from '../json/json';
import { UNLISTED_ZONES } from './time-zone-names';

/**
 * Reads the times that clients send, and corrects the time of a call. Clients' clocks are wrong,
 * often by hours, but the time between the call and its sending is right. The corrected time is the
 * server's present time minus that. It can always be written as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
 */

/** Why the time of a call is not the one that its client sent. */
export const EVENT_WARNINGS = [
  /**
   * `timestamp` (or `originalTimestamp`) could not be read: the call has the time of its receipt
   */
  'timestamp_unreadable',
  /** `sentAt` could not be read: the time of the call is not corrected */
  'sent_at_unreadable',
] as const;
export type EventWarning = (typeof EVENT_WARNINGS)[number];

/** The time of a call, ms since 1970, and what could not be read. */
export interface CallTime {
  ms: number;
  warnings: readonly EventWarning[];
}

const NO_WARNINGS: readonly EventWarning[] = [];

/**
 * Returns `receivedAt − (sentAt − original)`. Without a readable `sentAt` it is the original
 * unchanged. Without a readable original, or if the result is outside the years 0000 to 9999, it is
 * `receivedAtMs`.
 * @param original undefined or null: the client gave none
 * @param sentAt likewise
 */
export function callTime(original: unknown, sentAt: unknown, receivedAtMs: number): CallTime {
  const originalMs = isGiven(original) ? readTime(original) : undefined;
  const sentMs = isGiven(sentAt) ? readTime(sentAt) : undefined;
  const corrected =
    originalMs === undefined || sentMs === undefined
      ? originalMs
      : receivedAtMs - (sentMs - originalMs);
  const ms = corrected !== undefined && isWritable(corrected) ? corrected : undefined;
  const isUnreadable = isGiven(original) && ms === undefined;
  const isSentUnreadable = isGiven(sentAt) && sentMs === undefined;
  if (!isUnreadable && !isSentUnreadable) return { ms: ms ?? receivedAtMs, warnings: NO_WARNINGS };
  const warnings: EventWarning[] = [];
  if (isUnreadable) warnings.push('timestamp_unreadable');
  if (isSentUnreadable) warnings.push('sent_at_unreadable');
  return { ms: ms ?? receivedAtMs, warnings };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Years 0000 to 9999: other years change the length of the ISO form. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

function isWritable(ms: number): boolean {
  return ms >= FIRST_MS && ms <= LAST_MS;
}

/**
 * `Fri Apr 04 2014 07:00:00 GMT+0200 (Central European Summer Time)`. Regular expressions are slow
 * on long texts.
 */
const MAX_LENGTH = 100;

/**
 * Returns ms since 1970 of a time in one of the clients' forms; fractions of a millisecond are cut
 * off. A time without a zone is UTC: the time zone of the reading machine must not matter.
 * @returns undefined for what is no time, or outside the years 0000 to 9999
 */
export function readTime(value: unknown): number | undefined {
  const ms = read(value);
  return ms !== undefined && isWritable(ms) ? ms : undefined;
}

function read(value: unknown): number | undefined {
  if (typeof value === 'number') return epochMs(value);
  if (value instanceof ExactNumber) return epochMs(Number(value.digits));
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return undefined;
  const ms = PLAIN.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(ms) ? readText(value.trim()) : ms;
}

/**
 * The form most clients send, `2026-11-21T08:19:06.123Z`, which `Date` reads fast and exactly. In
 * other texts it looks for anything like a time, in the time zone of the reading machine.
 */
const PLAIN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Seconds since 1970 are below it until the year 5138, and milliseconds above it since March 1973.
 */
const FIRST_MILLISECONDS = 1e11;
/** Half a microsecond: doubles hold 1700000000.123 s a little below or above. */
const ROUNDING_MS = 0.0005;

function epochMs(number: number): number {
  return Math.floor(
    (Math.abs(number) < FIRST_MILLISECONDS ? number * 1_000 : number) + ROUNDING_MS,
  );
}

/** The parts of a time as written. */
interface TimeParts {
  year: string;
  /** a number, or the English name of three letters */
  month: string;
  day: string;
  hour?: string;
  minute?: string;
  second?: string;
  fraction?: string;
  /** an offset, or a name such as `Z` */
  zone?: string;
  /** of the time zone database; an offset beside it wins */
  place?: string;
}

const CLOCK = String.raw`(?<hour>\d{1,2}):(?<minute>\d{1,2})(?::(?<second>\d{1,2})(?:[.,](?<fraction>\d{1,12}))?)?`;
const OFFSET = String.raw`[+-]\d{2}(?::?\d{2})?`;
/** Go writes the name of the zone behind the offset. Many zones are named as one: `-0300 -03`. */
const ZONE = String.raw`(?: ?(?<zone>[A-Za-z]{1,4}|${OFFSET})(?: (?:[A-Z]{1,5}|${OFFSET}))?)?`;
/** What Go writes at the end, ` m=+0.001`, and RFC 9557, `[Europe/Berlin][u-ca=gregory]`. */
const SUFFIX = String.raw`(?: m=[+-][\d.]{1,24})?(?:\[!?(?<place>[A-Za-z][\w+/-]*|${OFFSET})\])?(?:\[!?[\w-]+=[\w-]+\])*`;
const MONTH = '(?<month>[A-Z][a-z]{2})';

/**
 * Each is anchored and has a definite next character at each place, so that none backtracks for
 * long.
 */
const FORMS: readonly RegExp[] = [
  // ISO 8601, with or without padding, a T, seconds or a zone; the date alone; what Ruby and Go
  // print.
  new RegExp(
    String.raw`^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?:[Tt ]${CLOCK}${ZONE}${SUFFIX})?$`,
  ),
  // ISO 8601, basic: 20140404T070000Z.
  new RegExp(
    String.raw`^(?<year>\d{4})(?<month>\d{2})(?<day>\d{2})[Tt](?<hour>\d{2})(?<minute>\d{2})(?:(?<second>\d{2})(?:[.,](?<fraction>\d{1,12}))?)?${ZONE}${SUFFIX}$`,
  ),
  // RFC 1123 and its relatives: Fri, 04 Apr 2014 07:00:00 GMT.
  new RegExp(
    String.raw`^(?:[A-Z][a-z]{2,8}, ?)?(?<day>\d{1,2})[ -]${MONTH}[ -](?<year>\d{4}) ${CLOCK}${ZONE}$`,
  ),
  // JavaScript's Date as a text: Fri Apr 04 2014 07:00:00 GMT+0200 (Central European Summer Time).
  new RegExp(
    String.raw`^[A-Z][a-z]{2} ${MONTH} (?<day>\d{2}) (?<year>\d{4}) ${CLOCK} GMT(?<zone>[+-]\d{4})(?: \([^()]*\))?$`,
  ),
];

const NUMBER = /^-?\d{1,17}(?:\.\d{1,12})?$/;

function readText(text: string): number | undefined {
  if (NUMBER.test(text)) return epochMs(Number(text));
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts) return timeOfParts(parts as unknown as TimeParts);
  }
  return undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function timeOfParts(parts: TimeParts): number | undefined {
  const { zone, place } = parts;
  const [month, day] = [MONTHS.indexOf(parts.month) + 1 || Number(parts.month), Number(parts.day)];
  const [hour, minute, second] = [
    Number(parts.hour ?? 0),
    Number(parts.minute ?? 0),
    Number(parts.second ?? 0),
  ];
  // Like Date.parse, it reads 24:00, and 31 April as 1 May. A leap second is the second after it,
  // as in Unix time.
  const isClock =
    hour < 24 ? minute < 60 && second <= 60 : hour === 24 && minute === 0 && second === 0;
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= 31 && isClock)) return undefined;
  const dayMs = new Date(0).setUTCFullYear(Number(parts.year), month - 1, day);
  const fractionMs = Number((parts.fraction ?? '').padEnd(3, '0').slice(0, 3));
  const local = dayMs + hour * HOUR_MS + minute * MINUTE_MS + second * 1_000 + fractionMs;
  const offset =
    zone !== undefined ? offsetOfZone(zone) : place !== undefined ? offsetAtPlace(place, local) : 0;
  return offset === undefined ? undefined : local - offset;
}

/** The zones of RFC 822, hours from UTC; other abbreviations mean several zones. */
const ZONES: Readonly<Record<string, number>> = {
  Z: 0,
  UT: 0,
  UTC: 0,
  GMT: 0,
  EST: -5,
  EDT: -4,
  CST: -6,
  CDT: -5,
  MST: -7,
  MDT: -6,
  PST: -8,
  PDT: -7,
};

/** @returns ms that the zone is ahead of UTC; undefined if there is no such zone */
function offsetOfZone(zone: string): number | undefined {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  if (hours === undefined) {
    const name = zone.toUpperCase();
    return Object.hasOwn(ZONES, name) ? (ZONES[name] ?? 0) * HOUR_MS : undefined;
  }
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS);
}

/**
 * Finds the offset of a place at a local time. Of a time that occurs twice it takes the first, and
 * a time that is left out is moved by the gap.
 */
function offsetAtPlace(place: string, local: number): number | undefined {
  if (/^[+-]/.test(place)) return offsetOfZone(place);
  const formatter = formatterOf(place);
  if (!formatter) return undefined;
  const before = offsetAt(formatter, local - 24 * HOUR_MS);
  const after = offsetAt(formatter, local + 24 * HOUR_MS);
  if (before === after) return before;
  const isBefore = offsetAt(formatter, local - before) === before;
  return isBefore || offsetAt(formatter, local - after) !== after ? before : after;
}

/**
 * By lower-case name; undefined until it is needed. The list bounds both the formatters, each of
 * which takes 50 KB and a third of a millisecond, and the names that are tried, each of which takes
 * 50 µs if there is no such zone.
 */
let formatters: Map<string, Intl.DateTimeFormat | undefined> | undefined;

/** @returns undefined for an unknown place */
function formatterOf(place: string): Intl.DateTimeFormat | undefined {
  formatters ??= new Map(
    ['UTC', ...Intl.supportedValuesOf('timeZone'), ...UNLISTED_ZONES].map((name) => [
      name.toLowerCase(),
      undefined,
    ]),
  );
  const name = place.toLowerCase();
  if (!formatters.has(name)) return undefined;
  const known = formatters.get(name);
  if (known) return known;
  const formatter = makeFormatter(name);
  if (formatter) formatters.set(name, formatter);
  else formatters.delete(name);
  return formatter;
}

function makeFormatter(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  } catch {
    // The time zone database of this version of Node is older.
    return undefined;
  }
}

/** @returns ms that the zone is ahead of UTC */
function offsetAt(formatter: Intl.DateTimeFormat, utc: number): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] =
    /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?/.exec(formatter.format(utc)) ?? [];
  return (
    (sign === '-' ? -1 : 1) *
    (Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * 1_000)
  );
}
