/**
 * Whether a consumer's loop turns. A broker that is away, or hangs, is no fault of the loop: what is asked of it is given up
 * and asked again, and each time the loop has turned.
 */

/** Longer than any pause of a healthy loop: long polls are 100 ms, and a request is given up after 10 s. */
const STUCK_AFTER_MS = 60_000;

export class PollLiveness {
  #turnedAt: number;

  constructor(private readonly now: () => number = Date.now) {
    this.#turnedAt = now();
  }

  recordPoll(): void {
    this.#turnedAt = this.now();
  }

  /** ms since it last did */
  get pollAgeMs(): number {
    return this.now() - this.#turnedAt;
  }

  stuck(): string | undefined {
    const age = this.pollAgeMs;
    return age > STUCK_AFTER_MS ? `the consumer loop has not turned for ${age} ms` : undefined;
  }
}
