/**
 * How the deliveries are cut by the time of their acceptance, so that the oldest can be dropped whole: nothing to delete,
 * nothing to clean up, and the room is free at once. Pure.
 *
 * A part covers a day at most. One that has grown to its share of the room ends early, and another begins.
 */

/** Times are ms since 1970; `to` is not part of it. */
export interface Part {
  name: string;
  from: number;
  to: number;
}

export interface SizedPart extends Part {
  bytes: number;
}

const DAY_MS = 86_400_000;
/** What is dropped at once where the room is used up: a sixteenth of it. */
const SHARES = 16;

/** The part that a time belongs to: undefined where none covers it yet. */
export function partOf(parts: readonly Part[], atMs: number): Part | undefined {
  return parts.find(({ from, to }) => from <= atMs && atMs < to);
}

/** A part for a time that none covers: the day, less what its neighbours have of it. */
export function newPart(parts: readonly Part[], atMs: number): Part {
  const day = Math.floor(atMs / DAY_MS) * DAY_MS;
  const from = Math.max(day, ...parts.filter(({ to }) => to <= atMs).map(({ to }) => to));
  const to = Math.min(day + DAY_MS, ...parts.filter((part) => part.from > atMs).map((part) => part.from));
  return { name: `deliveries_${from}`, from, to };
}

/** The parts to drop: those that are too old, and the oldest while all together are too large. The last one stays. */
export function partsToDrop(parts: readonly SizedPart[], keep: { sinceMs: number; maxBytes: number }): SizedPart[] {
  const oldestFirst = [...parts].sort((a, b) => a.from - b.from);
  let bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return oldestFirst.filter((part, i) => {
    const drop = part.to <= keep.sinceMs || (bytes > keep.maxBytes && i < oldestFirst.length - 1);
    if (drop) bytes -= part.bytes;
    return drop;
  });
}

/** The part that has had its share and must end early, if any: the one that grows. */
export function partToEnd(parts: readonly SizedPart[], { maxBytes }: { maxBytes: number }): SizedPart | undefined {
  const newest = [...parts].sort((a, b) => a.from - b.from).at(-1);
  return newest && newest.bytes > maxBytes / SHARES ? newest : undefined;
}
