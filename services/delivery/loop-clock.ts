/**
 * A clock that stands still while the event loop does. Estimates of an endpoint's pace must not blame it for our own
 * stall: by the wall clock, a pause of 150 ms made healthy lanes look slow and sent their records away.
 */

const TICK_MS = 10;
const MOST_PER_TICK_MS = 15;

export class LoopClock {
  #now = 0;
  #last = performance.now();
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);

  /** ms since it was made, without the stalls; as coarse as its tick */
  now(): number {
    return this.#now;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const real = performance.now();
    this.#now += Math.min(MOST_PER_TICK_MS, real - this.#last);
    this.#last = real;
  }
}
