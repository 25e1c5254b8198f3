import { text } from '../texts';

const words = text.lib.spans;

/** The spans of time that charts show; each ends now. Pure. */

export interface Span {
  /** in an address */
  name: string;
  label: string;
  ms: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAY: Span = { name: '24h', label: words.day, ms: DAY_MS };

/** Of the span of an address without one. */
export const USUAL_SPAN_NAME = DAY.name;

export const SPANS: readonly Span[] = [
  { name: '1h', label: words.hour, ms: HOUR_MS },
  DAY,
  { name: '7d', label: words.week, ms: 7 * DAY_MS },
];

/** With one that only the size of an audience is known for. */
export const LONG_SPANS: readonly Span[] = [
  ...SPANS,
  { name: '90d', label: words.quarter, ms: 90 * DAY_MS },
];

/** Returns the span with this name; the usual one if there is none. */
export function spanNamed(name: string, spans: readonly Span[] = SPANS): Span {
  return spans.find((span) => span.name === name) ?? DAY;
}
