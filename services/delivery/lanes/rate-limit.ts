/**
 * Limits how many requests a lane may begin per second: a pure token bucket. Without a rate it lets
 * everything through.
 */

/**
 * Tokens saved up while idle, as seconds of the rate: small, so that no second exceeds its rate by
 * much.
 */
const BURST_S = 0.1;

export class RateLimit {
  #perSecond = Infinity;
  #tokens = 1;
  #at = 0;

  /** @param perSecond above 0; undefined for no limit */
  set(perSecond: number | undefined, now: number): void {
    const wanted = perSecond ?? Infinity;
    if (wanted === this.#perSecond) return;
    this.#refill(now);
    this.#perSecond = wanted;
    this.#tokens = Math.min(this.#tokens, this.#burst);
  }

  /** Returns whether a request may begin now. */
  has(now: number): boolean {
    this.#refill(now);
    return this.#tokens >= 1;
  }

  /** Takes a token. May go below zero if `has` was not asked before (a test send). */
  take(now: number): void {
    this.#refill(now);
    if (this.#perSecond !== Infinity) this.#tokens--;
  }

  /** Returns the time until this many requests have begun, ms. */
  waitMs(count: number, now: number): number {
    this.#refill(now);
    return Math.max(0, ((count - this.#tokens) / this.#perSecond) * 1_000);
  }

  get #burst(): number {
    return Math.max(1, this.#perSecond * BURST_S);
  }

  #refill(now: number): void {
    if (this.#perSecond === Infinity) this.#tokens = Math.max(this.#tokens, 1);
    else {
      this.#tokens = Math.min(
        this.#burst,
        this.#tokens + ((now - this.#at) * this.#perSecond) / 1_000,
      );
    }
    this.#at = now;
  }
}
