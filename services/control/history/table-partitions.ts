/**
 * How the deliveries are cut by the time of their acceptance, so that the oldest can be dropped whole: nothing to delete,
 * nothing to clean up, and the room is free at once. Pure.
 *
 * A part covers a day at most. One that has grown to its share of the room ends early, and another begins; and so does
 * one without indexes that has as many rows as may be read from end to end for one question.
 */

/** Times are ms since 1970; `to` is not part of it. */
export interface TablePartition {
  name: string;
  from: number;
  to: number;
}

export interface SizedPartition extends TablePartition {
  bytes: number;
  /** without indexes and what is kept aside */
  rowBytes: number;
  indexed: boolean;
}

const DAY_MS = 86_400_000;
/** What is dropped at once where the room is used up: a sixteenth of it. */
const SHARES = 16;

/** About 45,000 deliveries: the embedded database reads them in 15 ms, and has room for some forty such parts. */
const UNINDEXED_BYTES = 32 * 1024 * 1024;

/** The part that a time belongs to: undefined where none covers it yet. */
export function partOf(parts: readonly TablePartition[], atMs: number): TablePartition | undefined {
  return parts.find(({ from, to }) => from <= atMs && atMs < to);
}

/** A part for a time that none covers: the day, less what its neighbours have of it. */
export function newPart(parts: readonly TablePartition[], atMs: number): TablePartition {
  const day = Math.floor(atMs / DAY_MS) * DAY_MS;
  const from = Math.max(day, ...parts.filter(({ to }) => to <= atMs).map(({ to }) => to));
  const to = Math.min(day + DAY_MS, ...parts.filter((part) => part.from > atMs).map((part) => part.from));
  return { name: `deliveries_${from}`, from, to };
}

/** The parts to drop: those that are too old, and the oldest while all together are too large. The last one stays. */
export function partsToDrop(
  parts: readonly SizedPartition[],
  keep: { sinceMs: number; maxBytes: number },
): SizedPartition[] {
  const oldestFirst = [...parts].sort((a, b) => a.from - b.from);
  let bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return oldestFirst.filter((part, i) => {
    const drop = part.to <= keep.sinceMs || (bytes > keep.maxBytes && i < oldestFirst.length - 1);
    if (drop) bytes -= part.bytes;
    return drop;
  });
}

/** The parts that must end early: those that are full without indexes; and the one that grows, where it has had its share. */
export function partsToEnd(parts: readonly SizedPartition[], { maxBytes }: { maxBytes: number }): SizedPartition[] {
  const newest = [...parts].sort((a, b) => a.from - b.from).at(-1);
  return parts.filter((part) => isFull(part) || (part === newest && part.bytes > maxBytes / SHARES));
}

/**
 * The parts whose indexes are to be made: the full ones, and those whose time is over.
 * @param written since the last look: who catches up writes into old parts, and does so faster while they have no indexes
 */
export function partsToIndex(
  parts: readonly SizedPartition[],
  { nowMs, written }: { nowMs: number; written: ReadonlyMap<string, number> },
): SizedPartition[] {
  return parts.filter((part) => !part.indexed && (isFull(part) || (part.to <= nowMs && !written.has(part.name))));
}

function isFull({ indexed, rowBytes }: SizedPartition): boolean {
  return !indexed && rowBytes >= UNINDEXED_BYTES;
}
