import { systemClock, type Clock } from './clock';

/**
 * A clock that stops while the event loop is stalled, so that a stall of this process is not taken for a slow endpoint:
 * with wall-clock time, a pause of 150 ms made healthy lanes look slow and diverted their records.
 */

const TICK_MS = 10;
const MOST_PER_TICK_MS = 15;
/**
 * Period over which the use of the event loop is judged, ms, and the use (0 to 1) from which it counts as saturated.
 */
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

  /** ms since construction without stalls; as coarse as the tick */
  now(): number {
    return this.#now;
  }

  /** ms that `now` has left out or not counted yet: both together are the real time since construction */
  get stoodStillMs(): number {
    return this.#stoodStillMs + this.time.steadyMs() - this.#last;
  }

  /** True if the event loop was busy throughout the last period: latency may then be our own. */
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
