/** How many requests a lane may begin in a second: a token bucket, pure. Without a rate it lets everything through. */

/** Saved up while nothing goes: so much of a second's worth, so that no second sees much more than its number. */
const BURST_S = 0.1;

export class RateLimit {
  #perSecond = Infinity;
  #tokens = 1;
  #at = 0;

  /** @param perSecond above 0; undefined: without limit */
  set(perSecond: number | undefined, now: number): void {
    const wanted = perSecond ?? Infinity;
    if (wanted === this.#perSecond) return;
    this.#refill(now);
    this.#perSecond = wanted;
    this.#tokens = Math.min(this.#tokens, this.#burst);
  }

  /** Whether one may begin now. */
  has(now: number): boolean {
    this.#refill(now);
    return this.#tokens >= 1;
  }

  /** One begins. May go below zero where nobody asked before (a test send). */
  take(now: number): void {
    this.#refill(now);
    if (this.#perSecond !== Infinity) this.#tokens--;
  }

  /** How long until so many have begun, ms. */
  waitMs(count: number, now: number): number {
    this.#refill(now);
    return Math.max(0, ((count - this.#tokens) / this.#perSecond) * 1_000);
  }

  get #burst(): number {
    return Math.max(1, this.#perSecond * BURST_S);
  }

  #refill(now: number): void {
    if (this.#perSecond === Infinity) this.#tokens = Math.max(this.#tokens, 1);
    else this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) * this.#perSecond) / 1_000);
    this.#at = now;
  }
}
