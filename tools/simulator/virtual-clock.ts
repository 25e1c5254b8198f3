/** Virtual time: future events in order, in whole milliseconds. It reads no clock. */

type Act = () => void;

/**
 * Promises resolved by an act settle before the next one: this many rounds exceed the longest chain
 * of promises.
 */
const SETTLE_ROUNDS = 8;

export class Agenda {
  #now = 0;
  #acts = new Map<number, Act[]>();

  /** ms since the beginning */
  get now(): number {
    return this.#now;
  }

  /**
   * Runs acts in order of time, and at the same time in the order of these calls. An act in the
   * past runs now.
   */
  at(ms: number, act: Act): void {
    const slot = Math.max(this.#now, Math.ceil(ms));
    const acts = this.#acts.get(slot);
    if (acts) acts.push(act);
    else this.#acts.set(slot, [act]);
  }

  in(ms: number, act: Act): void {
    this.at(this.#now + ms, act);
  }

  /** Runs until that time, or until `over` returns true (called once a virtual second). */
  async run(untilMs: number, over: () => boolean = () => false): Promise<void> {
    for (; this.#now < untilMs; this.#now++) {
      if (this.#now % 1_000 === 0 && over()) return;
      const acts = this.#acts.get(this.#now);
      if (!acts) continue;
      // Acts, and the promises that they resolve, may add to the present millisecond.
      for (let i = 0; i < acts.length;) {
        for (; i < acts.length; i++) acts[i]?.();
        for (let round = 0; round < SETTLE_ROUNDS; round++) await Promise.resolve();
      }
      this.#acts.delete(this.#now);
    }
  }
}
