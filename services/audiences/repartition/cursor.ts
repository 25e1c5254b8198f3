import { type Incoming } from './event';

/**
 * How far a partition of `profiles.events` has been read, and each event once.
 *
 * Whoever writes there writes again, after a crash, what it had not committed: the same origins at higher offsets. Each
 * origin's records come in its order, and a second writing begins at a place that was written before; so a record is a
 * second one exactly where its origin has got that far. That holds for every reader that begins at a cursor, since the
 * marks are part of it.
 */
export interface Cursor {
  /** the next offset to be read */
  next: number;
  /** by name of an origin: the highest offset of it that was met */
  marks: Record<string, number>;
}

export const BEGINNING: Cursor = { next: 0, marks: {} };

/** Takes records in their order. @returns the cursor behind them, and those that count */
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

/** The origin of what comes of a partition of `messages`. */
export function messagesOrigin(partition: number): string {
  return `m${partition}`;
}

/** The origin of what moves from a partition of profiles to another. @param pass of a second reading: its number */
export function profilesOrigin(partition: number, pass?: number): string {
  return pass === undefined ? `p${partition}` : `p${partition}.${pass}`;
}

/** Whether a second reading moved it. */
export function isLate({ origin }: Incoming): boolean {
  return origin?.name.includes('.') ?? false;
}
