import { type Incoming } from './event';

/**
 * Tracks how far a partition of `profiles.events` has been read, so that each event counts once.
 *
 * After a crash, a writer repeats the records that it had not committed: the same origins at higher offsets. The
 * records of each origin keep their order, and a repetition begins at a place that was written before. A record is
 * therefore a repetition exactly if its origin has already reached its offset. This holds for every reader that begins
 * at a cursor, since the marks are part of it.
 */
export interface Cursor {
  /** the next offset to read */
  next: number;
  /** the highest offset of each origin so far, by the origin's name */
  marks: Record<string, number>;
}

export const BEGINNING: Cursor = { next: 0, marks: {} };

/** Admits records in their order. @returns the cursor after them, and the records that count */
export function admit(cursor: Cursor, records: readonly Incoming[]): { cursor: Cursor; admitted: Incoming[] } {
  const marks = { ...cursor.marks };
  let { next } = cursor;
  const admitted = records.filter(({ offset, origin }) => {
    if (offset < next) return false;
    next = offset + 1;
    if (!origin) return true;
    if ((marks[origin.name] ?? -1) >= origin.offset) return false;
    marks[origin.name] = origin.offset;
    return true;
  });
  return { cursor: { next, marks }, admitted };
}

/** Returns the origin of records from a partition of `messages`. */
export function messagesOrigin(partition: number): string {
  return `m${partition}`;
}

/** Returns the origin of records that move between partitions of profiles. @param pass number of the second reading */
export function profilesOrigin(partition: number, pass?: number): string {
  return pass === undefined ? `p${partition}` : `p${partition}.${pass}`;
}

/** Returns whether a second reading moved the record. */
export function isLate({ origin }: Incoming): boolean {
  return origin?.name.includes('.') ?? false;
}
