/**
 * Lets the fetches of a reader wait longer while no records arrive. A broker answers a waiting
 * fetch with the first record, so that the longer wait delays no record. A partition that is new in
 * the next fetch would wait for its end: the consumer interrupts it (fetcher.ts).
 */

/** Time without a record after which a reader is idle. */
const IDLE_AFTER_MS = 5_000;
/**
 * Wait of an idle reader: an empty answer wakes the broker and this process for nothing. A broker
 * that freezes is noticed after it (wire.ts).
 */
const IDLE_WAIT_MS = 5_000;

export interface FetchWait {
  /** ms */
  maxWaitTime: number;
  minBytes: number;
}

export class IdleWait {
  #busyAt: number;
  #isLong = false;

  /** @param busy the wait while records arrive */
  constructor(
    private readonly busy: FetchWait,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#busyAt = now();
  }

  /** Notes that records arrived. */
  markActive(): void {
    this.#busyAt = this.now();
  }

  /** True if the last fetch may wait for as long as an idle reader does. */
  get isLong(): boolean {
    return this.#isLong;
  }

  /**
   * Returns the wait of a fetch that begins now. An idle reader waits for a single record: no
   * larger batch would come.
   */
  nextFetchWait(): FetchWait {
    this.#isLong = this.now() - this.#busyAt >= IDLE_AFTER_MS;
    if (!this.#isLong) return this.busy;
    return { maxWaitTime: Math.max(this.busy.maxWaitTime, IDLE_WAIT_MS), minBytes: 1 };
  }
}
