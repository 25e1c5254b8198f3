/** Requests that ingest answered with 429: the value of a record on `messages.limited`, one a second and process. */

export interface LimitedRecord {
  /** ISO 8601 UTC: the end of the second that is counted */
  at: string;
  /** requests, by the id of their source */
  sources: Record<string, number>;
}

const LIMITED_FORMAT = 1;

export function limitedRecord(at: Date, counts: ReadonlyMap<string, number>) {
  const value: LimitedRecord = { at: at.toISOString(), sources: Object.fromEntries(counts) };
  return { value: JSON.stringify(value), headers: { format: String(LIMITED_FORMAT) } };
}

/** @returns the requests of all sources; 0 for what cannot be read */
export function limitedCount(value: string): number {
  try {
    const { sources } = JSON.parse(value) as LimitedRecord;
    const counts = Object.values(sources);
    return counts.every(Number.isSafeInteger) ? counts.reduce((sum, count) => sum + count, 0) : 0;
  } catch {
    return 0;
  }
}
