import { performance } from 'node:perf_hooks';

/**
 * A clock that stands still while the event loop does. Estimates of an endpoint's pace must not blame it for our own
 * stall: by the wall clock, a pause of 150 ms made healthy lanes look slow and sent their records away.
 */

const TICK_MS = 10;
const MOST_PER_TICK_MS = 15;
/** Ticks over which the loop's use is judged, and the use (0 to 1) from which it has nothing to spare. */
const JUDGED_TICKS = 10;
const SATURATED = 0.95;

export class LoopClock {
  #now = 0;
  #last = performance.now();
  #ticks = 0;
  #use = performance.eventLoopUtilization();
  #saturated = false;
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);

  /** ms since it was made, without the stalls; as coarse as its tick */
  now(): number {
    return this.#now;
  }

  /** Whether the event loop was busy all of the last moment: what is slow now may be ourselves. */
  get saturated(): boolean {
    return this.#saturated;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const real = performance.now();
    this.#now += Math.min(MOST_PER_TICK_MS, real - this.#last);
    this.#last = real;
    if (++this.#ticks % JUDGED_TICKS !== 0) return;
    const use = performance.eventLoopUtilization();
    this.#saturated = performance.eventLoopUtilization(use, this.#use).utilization >= SATURATED;
    this.#use = use;
  }
}
