import { systemClock, type Clock } from './clock';

/**
 * A clock that stands still while the event loop does. Estimates of an endpoint's pace must not blame it for our own
 * stall: by the wall clock, a pause of 150 ms made healthy lanes look slow and sent their records away.
 */

const TICK_MS = 10;
const MOST_PER_TICK_MS = 15;
/** How long the loop's use is judged over, and the use (0 to 1) from which it has nothing to spare. */
const JUDGED_MS = 100;
const SATURATED = 0.95;

export class LoopClock {
  #now = 0;
  #stoodStillMs = 0;
  #last: number;
  #judged: { atMs: number; busyMs: number };
  #saturated = false;
  readonly #stop: () => void;

  constructor(private readonly time: Clock = systemClock) {
    this.#last = time.steadyMs();
    this.#judged = { atMs: this.#last, busyMs: time.busyMs() };
    this.#stop = time.every(TICK_MS, () => this.#tick());
  }

  /** ms since it was made, without the stalls; as coarse as its tick */
  now(): number {
    return this.#now;
  }

  /** how much time `now` has left out, or not counted yet: both together are the real time since it was made, ms */
  get stoodStillMs(): number {
    return this.#stoodStillMs + this.time.steadyMs() - this.#last;
  }

  /** Whether the event loop was busy all of the last moment: what is slow now may be ourselves. */
  get saturated(): boolean {
    return this.#saturated;
  }

  stop(): void {
    this.#stop();
  }

  #tick(): void {
    const real = this.time.steadyMs();
    const counted = Math.min(MOST_PER_TICK_MS, real - this.#last);
    this.#now += counted;
    this.#stoodStillMs += real - this.#last - counted;
    this.#last = real;
    if (real - this.#judged.atMs < JUDGED_MS) return;
    const busyMs = this.time.busyMs();
    this.#saturated = busyMs - this.#judged.busyMs >= SATURATED * (real - this.#judged.atMs);
    this.#judged = { atMs: real, busyMs };
  }
}
