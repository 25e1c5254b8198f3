/**
 * Spaces out the fetches of one consumer from one broker: pure. A broker answers a fetch as soon as there is one record;
 * without a pause a consumer of 2,000 records a second makes a thousand fetches of all its partitions a second, which cost
 * it more than the records do. A consumer that has been waiting for longer than the space (an idle one) is not held up.
 */
export class FetchThrottle {
  #startedAt = -Infinity;

  /** @param spaceMs the least time between the starts of two fetches */
  constructor(private readonly spaceMs: number) {}

  /** A fetch wants to start. @returns ms that it has to wait; it counts as started then */
  wait(nowMs: number): number {
    const waitMs = Math.max(0, this.#startedAt + this.spaceMs - nowMs);
    this.#startedAt = nowMs + waitMs;
    return waitMs;
  }
}
