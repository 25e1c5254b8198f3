/** Lets few work at once. Who comes later waits, and the first to wait is the next. */
export class Places {
  #free: number;
  /** each takes a place that another one left */
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /**
   * Works as soon as a place is free.
   * @param signal ends the wait
   * @returns undefined if the wait ended without a place
   */
  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<{ result: T } | undefined> {
    if (!(await this.#take(signal))) return undefined;
    try {
      return { result: await work() };
    } finally {
      this.#leave();
    }
  }

  #take(signal: AbortSignal): Promise<boolean> {
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const end = (isTaken: boolean) => {
        this.#waiting.delete(take);
        signal.removeEventListener('abort', giveUp);
        resolve(isTaken);
      };
      const take = () => end(true);
      const giveUp = () => end(false);
      this.#waiting.add(take);
      signal.addEventListener('abort', giveUp);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#free++;
  }
}
