/** Runs work in an interval and on demand, one run at a time. */
export class Periodic {
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();

  /** @param work must not throw */
  constructor(
    private readonly everyMs: number,
    private readonly work: () => Promise<void>,
  ) {}

  start(): void {
    let waiting = false;
    this.#timer = setInterval(() => {
      // Work that takes longer than its interval must not queue up.
      if (waiting) return;
      waiting = true;
      void this.now().finally(() => (waiting = false));
    }, this.everyMs).unref();
  }

  /** Runs the work once, after the current run. */
  now(): Promise<void> {
    this.#turn = this.#turn.then(this.work);
    return this.#turn;
  }

  /** Stops the interval and runs the work a last time, after the current run. */
  async end(): Promise<void> {
    await this.stop();
    await this.now();
  }

  /** Stops the interval and waits for the current run. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
  }
}
