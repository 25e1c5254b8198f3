/**
 * Spaces out the fetches of one consumer from one broker, without a clock. A broker answers a fetch as soon as it has one
 * record. Without a pause, a consumer of 2,000 records a second makes a thousand fetches of all its partitions a second,
 * which cost more than the records. A consumer that has waited for longer than the space (an idle one) is not delayed.
 */
export class FetchThrottle {
  #startedAt = -Infinity;

  /** @param spaceMs the least time between the starts of two fetches */
  constructor(private readonly spaceMs: number) {}

  /** Registers a fetch. @returns the ms that it has to wait; it counts as started afterwards */
  wait(nowMs: number): number {
    const waitMs = Math.max(0, this.#startedAt + this.spaceMs - nowMs);
    this.#startedAt = nowMs + waitMs;
    return waitMs;
  }
}
