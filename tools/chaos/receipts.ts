/**
 * Counts the requests of one endpoint as they come, because half an hour of requests is too much to
 * keep.
 */

/** A delivery that arrived before. */
export interface Repeat {
  delivery: string;
  /** when the previous request was sent, ms since 1970 */
  previousAt: number;
  /** when this one was sent */
  at: number;
}

const BUCKET_MS = 100;

export class Receipts {
  readonly repeats: Repeat[] = [];
  /** requests that got a 2xx */
  taken = 0;
  readonly #lastAt = new Map<string, number>();
  readonly #perBucket = new Map<number, number>();

  /** @param at time of sending */
  take(delivery: string, at: number): void {
    const before = this.#lastAt.get(delivery);
    // Requests may be handled in another order than they were sent.
    if (before !== undefined) {
      this.repeats.push({ delivery, previousAt: Math.min(before, at), at: Math.max(before, at) });
    }
    this.#lastAt.set(delivery, Math.max(at, before ?? at));
    this.taken++;
    const bucket = Math.floor(at / BUCKET_MS);
    this.#perBucket.set(bucket, (this.#perBucket.get(bucket) ?? 0) + 1);
  }

  has(delivery: string): boolean {
    return this.#lastAt.has(delivery);
  }

  /** number of different deliveries */
  get distinct(): number {
    return this.#lastAt.size;
  }

  /** Returns the number of requests between two times, to a tenth of a second. */
  between(fromMs: number, untilMs: number): number {
    let count = 0;
    for (let bucket = Math.floor(fromMs / BUCKET_MS); bucket * BUCKET_MS <= untilMs; bucket++) {
      count += this.#perBucket.get(bucket) ?? 0;
    }
    return count;
  }
}
