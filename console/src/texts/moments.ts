import { LOCALE } from './locale';

/**
 * Times in texts, in the time zone of the browser. To make a formatter takes forty times as long as
 * to use it, and a page shows hundreds of times: each is made once.
 */

/** Formats a day: Jan 3. */
export const dayAndMonth = formatterOf({ day: 'numeric', month: 'short' });

/** Formats a day: Jan 3, 2026. */
export const dayMonthAndYear = formatterOf({ day: 'numeric', month: 'short', year: 'numeric' });

/** Formats a time of day: 23:12. */
export const hourAndMinute = formatterOf({
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** Formats a time of day: 23:12:04. */
export const hourMinuteAndSecond = formatterOf({
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** An invalid date, which a formatter would throw at, appears as `Invalid Date`. */
function formatterOf(options: Intl.DateTimeFormatOptions): (date: Date) => string {
  const formatter = new Intl.DateTimeFormat(LOCALE, options);
  return (date) => (Number.isNaN(date.getTime()) ? String(date) : formatter.format(date));
}
