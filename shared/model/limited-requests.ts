/** Requests that ingest answered with 429: the value of a record on `messages.limited`, one a second and process. */

export interface LimitedRecord {
  /** ISO 8601 UTC: the end of the counted second */
  at: string;
  /** requests, by the id of their source */
  sources: Record<string, number>;
}

const LIMITED_FORMAT = 1;

export function limitedRecord(at: Date, counts: ReadonlyMap<string, number>) {
  const value: LimitedRecord = { at: at.toISOString(), sources: Object.fromEntries(counts) };
  return { value: JSON.stringify(value), headers: { format: String(LIMITED_FORMAT) } };
}

/** @returns requests by the id of their source; none if the value is unreadable */
export function limitedCounts(value: string): [source: string, count: number][] {
  try {
    const counts = Object.entries((JSON.parse(value) as LimitedRecord).sources);
    return counts.every(([, count]) => Number.isSafeInteger(count)) ? counts : [];
  } catch {
    return [];
  }
}
