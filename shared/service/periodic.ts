/** Does something every so often, and whenever it is asked to: never two at once. */
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

  /** After what is under way. */
  now(): Promise<void> {
    this.#turn = this.#turn.then(this.work);
    return this.#turn;
  }

  /** Once more, after what is under way, and never again. */
  async end(): Promise<void> {
    await this.stop();
    await this.now();
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turn;
  }
}
