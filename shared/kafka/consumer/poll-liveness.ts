/**
 * Tracks whether a consumer's fetch loop still turns. An unreachable or hanging broker does not count as a stuck loop:
 * a request that times out and is retried counts as progress.
 */

/** Longer than any pause of a healthy loop: long polls take 100 ms, and requests time out after 10 s. */
const STUCK_AFTER_MS = 60_000;

export class PollLiveness {
  #turnedAt: number;

  /** @param now a clock that does not jump when the machine's clock is set, ms */
  constructor(private readonly now: () => number = () => performance.now()) {
    this.#turnedAt = now();
  }

  recordPoll(): void {
    this.#turnedAt = this.now();
  }

  /** ms since the last turn */
  get pollAgeMs(): number {
    return this.now() - this.#turnedAt;
  }

  stuck(): string | undefined {
    const age = this.pollAgeMs;
    return age > STUCK_AFTER_MS ? `the consumer loop has not turned for ${Math.round(age)} ms` : undefined;
  }
}
