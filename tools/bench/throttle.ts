/**
 * Holds a sender back while too much of what it sent has not arrived: a steady state then, whose rate is that of the
 * slowest stage, and no backlog that is emptied after the measurement.
 */
export class Throttle {
  #sent = 0;
  #arrived = 0;
  #closed = false;
  #waiting: (() => void)[] = [];

  /** @param most of sent and not arrived at any time */
  constructor(private readonly most: number) {}

  get sent(): number {
    return this.#sent;
  }

  get outstanding(): number {
    return this.#sent - this.#arrived;
  }

  /** Resolves when there is room for so many more, which then count as sent; false once closed. */
  async take(count: number): Promise<boolean> {
    while (!this.#closed && this.#sent + count - this.#arrived > this.most) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) return false;
    this.#sent += count;
    return true;
  }

  /** So many have arrived in all. */
  arrived(total: number): void {
    this.#arrived = Math.max(this.#arrived, total);
    this.#wake();
  }

  /** Nothing more is to be sent. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
