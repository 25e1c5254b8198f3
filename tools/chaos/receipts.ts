/** What one endpoint took: counted as it comes, since keeping every request of half an hour would be too much. */

/** A delivery that was taken before. */
export interface Repeat {
  delivery: string;
  /** when what was taken the time before had been sent, ms since 1970 */
  previousAt: number;
  /** when this one was sent */
  at: number;
}

const BUCKET_MS = 100;

export class Receipts {
  readonly repeats: Repeat[] = [];
  /** requests answered 2xx */
  taken = 0;
  readonly #lastAt = new Map<string, number>();
  readonly #perBucket = new Map<number, number>();

  /** @param at when it was sent */
  take(delivery: string, at: number): void {
    const before = this.#lastAt.get(delivery);
    // They may be looked at in another order than they were sent.
    if (before !== undefined)
      this.repeats.push({ delivery, previousAt: Math.min(before, at), at: Math.max(before, at) });
    this.#lastAt.set(delivery, Math.max(at, before ?? at));
    this.taken++;
    const bucket = Math.floor(at / BUCKET_MS);
    this.#perBucket.set(bucket, (this.#perBucket.get(bucket) ?? 0) + 1);
  }

  has(delivery: string): boolean {
    return this.#lastAt.has(delivery);
  }

  /** different deliveries */
  get distinct(): number {
    return this.#lastAt.size;
  }

  /** Requests taken between two times, to a tenth of a second. */
  between(fromMs: number, untilMs: number): number {
    let count = 0;
    for (let bucket = Math.floor(fromMs / BUCKET_MS); bucket * BUCKET_MS <= untilMs; bucket++) {
      count += this.#perBucket.get(bucket) ?? 0;
    }
    return count;
  }
}
