import { sleep } from '../../../shared/service/async';

/** Longest time until a waiting caller notices that it should stop. */
const LOOK_MS = 100;

/** Limits a rate by waiting. It does not make up for unused time. */
export class RateLimiter {
  #freeAt = 0;

  /** @param steadyMs reads a monotonic clock, ms */
  constructor(
    private readonly perSecond: number,
    private readonly steadyMs: () => number,
  ) {}

  /** @param goOn called every `LOOK_MS`, since the wait is long at a slow rate */
  async take(count: number, goOn: () => boolean): Promise<void> {
    for (let waitMs = this.#freeAt - this.steadyMs(); waitMs > 0 && goOn(); waitMs = this.#freeAt - this.steadyMs()) {
      await sleep(Math.min(waitMs, LOOK_MS));
    }
    this.#freeAt = Math.max(this.#freeAt, this.steadyMs()) + (count * 1_000) / this.perSecond;
  }
}
