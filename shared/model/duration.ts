/** Durations as settings write them: `500ms`, `5s`, `10m`, `4h`. */

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

/** Returns the shortest exact spelling: 10000 → `10s`, 1500 → `1500ms`. Topic names of tiers contain it. */
export function formatDuration(ms: number): string {
  for (const unit of ['h', 'm', 's'] as const) {
    if (ms > 0 && ms % UNITS[unit] === 0) return `${String(ms / UNITS[unit])}${unit}`;
  }
  return `${String(ms)}ms`;
}
