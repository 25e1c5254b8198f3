/**
 * Tells a record that was read before from a new one. An offset alone does not: after a log was cut
 * (power cut, unclean election, restored copy) or its topic made again, other records get the same
 * offsets, and epochs of leaders may come again, too.
 *
 * A record that follows another in the same log has a higher offset. One that replaced it after a
 * cut has a later epoch, or was appended later. So a record was read before if neither its offset,
 * nor its epoch, nor its time is beyond those of the last one that was read.
 */

/** Names a record of a partition. */
export interface RecordName {
  offset: number;
  /** of the leader that appended it */
  epoch: number;
  /** when it was appended, ms since 1970 */
  timestamp: number;
}

/** How far a partition was read: the last record, with the latest time until then. */
export type Mark = readonly [offset: number, epoch: number, timestamp: number];

/** Returns whether a record is not among those that were read up to a mark. */
export function isBehind(
  { offset, epoch, timestamp }: RecordName,
  mark: Mark | undefined,
): boolean {
  return mark === undefined || offset > mark[0] || epoch > mark[1] || timestamp > mark[2];
}

/**
 * Returns the mark at a record. Its time never goes back: the clock of a new leader may be behind
 * that of the one before.
 */
export function markAt({ offset, epoch, timestamp }: RecordName, before?: Mark): Mark {
  return [offset, epoch, Math.max(timestamp, before?.[2] ?? timestamp)];
}

/** Returns the mark from which a reader goes on at an offset, after a log was cut. */
export function markBefore(next: number, [, epoch, timestamp]: Mark): Mark {
  return [next - 1, epoch, timestamp];
}

/** Returns the name of a record as a reader gets it. */
export function nameOf(record: { offset: number; epoch: number; timestampMs: number }): RecordName {
  return { offset: record.offset, epoch: record.epoch, timestamp: record.timestampMs };
}
