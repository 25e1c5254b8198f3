/**
 * What is dear to do, such as to end and start a broker, and happens once for several concurrent
 * tests: a step is taken when each test that has begun waits for it or has ended.
 *
 *     const outage = new SharedSteps([stop, start]);
 *     test.concurrent('…', outage.with(async (next) => { …; await next(); …; await next(); … }));
 *
 * Jest begins at most `maxConcurrency` concurrent tests at once: there must be no more of them.
 */
export class SharedSteps {
  /** tests that have begun and not ended */
  #running = 0;
  #taken = 0;
  #waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  constructor(private readonly steps: readonly (() => Promise<unknown>)[]) {}

  /** Returns the function of a test. Each `next` resolves after the next step. */
  with(tell: (next: () => Promise<void>) => Promise<void>): () => Promise<void> {
    return async () => {
      this.#running++;
      try {
        await tell(() => this.#wait());
      } finally {
        this.#running--;
        this.#takeIfAllWait();
      }
    };
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      // Jest begins all in one turn: the last of them may not have begun yet.
      setImmediate(() => this.#takeIfAllWait());
    });
  }

  #takeIfAllWait(): void {
    if (this.#waiting.length === 0 || this.#waiting.length < this.#running) return;
    const waiting = this.#waiting.splice(0);
    void this.steps[this.#taken++]!().then(
      () => waiting.forEach(({ resolve }) => resolve()),
      (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
    );
  }
}
