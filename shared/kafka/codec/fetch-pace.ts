/**
 * Spaces out the fetches of a busy consumer: pure. A broker answers a fetch as soon as there is one record; without a pause a
 * consumer of 2,000 records a second makes a thousand fetches of all its partitions a second, which cost it more than the
 * records do. One that has been waiting for longer than the space (an idle one) is not held up at all.
 */
export class FetchPace {
  readonly #last = new Map<string, number>();

  /** @param spaceMs the least time between the starts of two fetches of the same partitions */
  constructor(private readonly spaceMs: number) {}

  /** A fetch of these wants to start. @returns ms that it has to wait; it counts as started then */
  wait(partitions: string, nowMs: number): number {
    const waitMs = Math.max(0, (this.#last.get(partitions) ?? -Infinity) + this.spaceMs - nowMs);
    if (this.#last.size >= MOST && !this.#last.has(partitions)) this.#last.clear();
    this.#last.set(partitions, nowMs + waitMs);
    return waitMs;
  }
}

/** More than a process ever reads at a time: those of partitions that went elsewhere are forgotten. */
const MOST = 1_000;
