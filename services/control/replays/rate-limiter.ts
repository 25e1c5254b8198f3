import { setTimeout as pause } from 'node:timers/promises';

/** How soon who waits sees that it is to stop. */
const LOOK_MS = 100;

/** Keeps to a rate by waiting: what was not used is not made up for. */
export class RateLimiter {
  #freeAt = 0;

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number,
  ) {}

  /** @param goOn asked now and then, since a slow rate waits long */
  async take(count: number, goOn: () => boolean): Promise<void> {
    for (let waitMs = this.#freeAt - this.now(); waitMs > 0 && goOn(); waitMs = this.#freeAt - this.now()) {
      await pause(Math.min(waitMs, LOOK_MS));
    }
    this.#freeAt = Math.max(this.#freeAt, this.now()) + (count * 1_000) / this.perSecond;
  }
}
