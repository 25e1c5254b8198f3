/** Writes times, reads what it wrote, and reads and writes durations. */

const MINUTE_MS = 60_000;
const CACHED_MINUTES = 16;
/**
 * `YYYY-MM-DDTHH:MM:` of recent minutes: an event contains three times, and two of them are often
 * the same minutes.
 */
const minutes: { minute: number; text: string }[] = Array.from({ length: CACHED_MINUTES }, () => ({
  minute: NaN,
  text: '',
}));
const TWO = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
const THREE = Array.from({ length: 1_000 }, (_, n) => `.${String(n).padStart(3, '0')}Z`);

/**
 * Returns the text of `Date.prototype.toISOString` at a tenth of its cost.
 * @param ms whole ms since 1970
 * @throws RangeError for values that are not a date
 */
export function isoTime(ms: number): string {
  const minute = Math.floor(ms / MINUTE_MS);
  const rest = ms - minute * MINUTE_MS;
  const cached = minutes[minute & (CACHED_MINUTES - 1)];
  const seconds = TWO[Math.floor(rest / 1_000)];
  const fraction = THREE[rest % 1_000];
  if (cached === undefined || seconds === undefined || fraction === undefined) {
    return new Date(ms).toISOString();
  }
  if (cached.minute !== minute) {
    const text = new Date(ms).toISOString();
    cached.text = text.slice(0, text.lastIndexOf(':') + 1);
    cached.minute = minute;
  }
  return cached.text + seconds + fraction;
}

/** Returns the same, or null for a time that is not known. */
export function isoTimeOrNull(ms: number | null | undefined): string | null {
  return ms == null ? null : isoTime(ms);
}

const MINUTE_CHARACTERS = 'YYYY-MM-DDTHH:MM:'.length;
const ISO_CHARACTERS = 'YYYY-MM-DDTHH:MM:SS.mmmZ'.length;
/** The minutes that were read last: an event has three times, of at most two or three minutes. */
const readMinutes = Array.from({ length: 4 }, () => ({ text: '', ms: NaN }));
let oldest = 0;

/**
 * Returns what `Date.parse` returns, for texts of `isoTime` at a fraction of its cost.
 * @returns ms since 1970; NaN if the text is not a time
 */
export function timeOf(text: string): number {
  if (text.length !== ISO_CHARACTERS || text[19] !== '.' || text[23] !== 'Z' || isHour24(text)) {
    return Date.parse(text);
  }
  const minute = text.slice(0, MINUTE_CHARACTERS);
  const known = readMinutes.find((each) => each.text === minute)?.ms ?? readMinute(minute);
  const seconds = digit(text, 17) * 10 + digit(text, 18);
  const ms = digit(text, 20) * 100 + digit(text, 21) * 10 + digit(text, 22);
  return seconds < 60 ? known + seconds * 1_000 + ms : NaN;
}

/** ISO 8601 allows hour 24 only as 24:00:00.000, the end of a day. */
function isHour24(text: string): boolean {
  return text[11] === '2' && text[12] === '4';
}

function readMinute(text: string): number {
  const ms = Date.parse(`${text}00.000Z`);
  readMinutes[oldest++ % readMinutes.length] = { text, ms };
  return ms;
}

/** Returns NaN for other characters. */
function digit(text: string, at: number): number {
  const value = text.charCodeAt(at) - 0x30;
  return value >= 0 && value <= 9 ? value : NaN;
}

/** Units of durations as settings write them: `500ms`, `5s`, `10m`, `4h`. */
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Returns the milliseconds of a written duration.
 * @returns undefined unless the text is a whole number followed by ms, s, m, h or d
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  if (!match) return undefined;
  return Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
}

/**
 * Returns the shortest exact spelling: 10000 → `10s`, 1500 → `1500ms`. Topic names of tiers contain
 * it.
 */
export function formatDuration(ms: number): string {
  for (const unit of ['h', 'm', 's'] as const) {
    if (ms > 0 && ms % UNITS[unit] === 0) return `${String(ms / UNITS[unit])}${unit}`;
  }
  return `${String(ms)}ms`;
}
