/**
 * Least ms between the starts of two fetches: after few records, which somebody waits for, and
 * after many, when throughput counts.
 */
const FETCH_SPACE_MS = { few: 2, many: 5 };
const MANY_RECORDS = 16;

/**
 * Spaces out the fetches of one consumer from one broker. A broker answers a fetch as soon as it
 * has one record. Without a pause, a consumer of 2,000 records a second makes a thousand fetches a
 * second, which cost more than the records. A consumer that has waited for longer than the space
 * (an idle one) is not delayed.
 */
export class FetchThrottle {
  #startedAt = -Infinity;
  #spaceMs = FETCH_SPACE_MS.few;

  /** Registers a fetch. @returns the ms that it has to wait; it counts as started afterwards */
  wait(nowMs: number): number {
    const waitMs = Math.max(0, this.#startedAt + this.#spaceMs - nowMs);
    this.#startedAt = nowMs + waitMs;
    return waitMs;
  }

  /** Notes how many records a fetch brought. */
  noteRecords(records: number): void {
    this.#spaceMs = records < MANY_RECORDS ? FETCH_SPACE_MS.few : FETCH_SPACE_MS.many;
  }
}
