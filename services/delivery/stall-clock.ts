/**
 * Time as far as this process was there to see it: pure, given the real time at each beat. A process that was stopped or
 * got no CPU finds deadlines passed whose answers it has had no chance to read, and connections that ended meanwhile:
 * neither is an endpoint's fault.
 */

/** Far longer than a busy loop's longest turn; up to that all time counts, or deadlines would not be kept. */
const STANDSTILL_MS = 500;
/** What begins so shortly after a standstill may still meet its consequences: a connection that the other side gave up. */
const AFTERMATH_MS = 1_000;

export class StallClock {
  #now = 0;
  #beatAt: number;
  /** by this clock */
  #stoodStillAt = -Infinity;

  /** @param realNow ms, by any clock that does not go back */
  constructor(realNow: number) {
    this.#beatAt = realNow;
  }

  /** To be called several times within the least that counts as a standstill. */
  beat(realNow: number): void {
    const stoodStill = realNow - this.#beatAt > STANDSTILL_MS;
    this.#now = this.now(realNow);
    this.#beatAt = realNow;
    if (stoodStill) this.#stoodStillAt = this.#now;
  }

  /** ms since it was made; of a standstill only the least that is one */
  now(realNow: number): number {
    return this.#now + Math.min(realNow - this.#beatAt, STANDSTILL_MS);
  }

  /** Whether this process stood still after that time by this clock, or shortly before it. */
  stoodStillSince(time: number, realNow: number): boolean {
    return realNow - this.#beatAt > STANDSTILL_MS || this.#stoodStillAt > time - AFTERMATH_MS;
  }
}
