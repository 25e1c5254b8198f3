/** Virtual time: what is to happen, in order, in whole milliseconds. Nothing here looks at a clock. */

type Act = () => void;

/** Promises resolved by an act settle before the next one: so many rounds are more than any chain of ours is long. */
const SETTLE_ROUNDS = 3;

export class Agenda {
  #now = 0;
  #acts = new Map<number, Act[]>();

  /** ms since the beginning */
  get now(): number {
    return this.#now;
  }

  /** In order of time, and at one time in the order of these calls. What would be in the past happens now. */
  at(ms: number, act: Act): void {
    const slot = Math.max(this.#now, Math.ceil(ms));
    const acts = this.#acts.get(slot);
    if (acts) acts.push(act);
    else this.#acts.set(slot, [act]);
  }

  in(ms: number, act: Act): void {
    this.at(this.#now + ms, act);
  }

  /** Until that time, or until `over` says so (asked once a virtual second). */
  async run(untilMs: number, over: () => boolean = () => false): Promise<void> {
    for (; this.#now < untilMs; this.#now++) {
      if (this.#now % 1_000 === 0 && over()) return;
      const acts = this.#acts.get(this.#now);
      if (!acts) continue;
      // Acts may add to the present moment, and so may what their promises cause.
      for (let i = 0; i < acts.length;) {
        for (; i < acts.length; i++) acts[i]?.();
        for (let round = 0; round < SETTLE_ROUNDS; round++) await Promise.resolve();
      }
      this.#acts.delete(this.#now);
    }
  }
}
