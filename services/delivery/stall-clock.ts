/**
 * Measures time without the standstills of this process. It is pure and receives the real time with each beat. After
 * the process was stopped or got no CPU, deadlines have passed although it could not read the responses, and
 * connections may have ended: neither is an endpoint's fault.
 */

/**
 * Gap between beats from which the process counts as stalled, far longer than the longest turn of a busy loop. Up to it
 * all time counts; otherwise deadlines would not be kept.
 */
const STANDSTILL_MS = 500;
/**
 * Requests that begin this soon after a stall may still suffer from it, for example on a connection that the other side
 * closed.
 */
const AFTERMATH_MS = 1_000;

export class StallClock {
  #now = 0;
  #beatAt: number;
  /** by this clock */
  #stoodStillAt = -Infinity;

  /** @param realNow ms, by any monotonic clock */
  constructor(realNow: number) {
    this.#beatAt = realNow;
  }

  /** Advances the clock. Call it several times within the shortest gap that counts as a stall. */
  beat(realNow: number): void {
    const stoodStill = realNow - this.#beatAt > STANDSTILL_MS;
    this.#now = this.now(realNow);
    this.#beatAt = realNow;
    if (stoodStill) this.#stoodStillAt = this.#now;
  }

  /** ms since construction; of a stall only the first part, up to the gap that counts as one */
  now(realNow: number): number {
    return this.#now + Math.min(realNow - this.#beatAt, STANDSTILL_MS);
  }

  /** Returns whether this process stalled after that time (by this clock), or shortly before it. */
  stoodStillSince(time: number, realNow: number): boolean {
    return realNow - this.#beatAt > STANDSTILL_MS || this.#stoodStillAt > time - AFTERMATH_MS;
  }
}
