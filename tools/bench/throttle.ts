/**
 * Pauses a sender while too many of its messages are under way. The result is a steady state at the rate of the
 * slowest stage, without a backlog that drains after the measurement.
 */
export class Throttle {
  #sent = 0;
  #arrived = 0;
  #closed = false;
  #waiting: (() => void)[] = [];

  /** @param most maximum of messages that are sent and have not arrived */
  constructor(private readonly most: number) {}

  get sent(): number {
    return this.#sent;
  }

  get outstanding(): number {
    return this.#sent - this.#arrived;
  }

  /** Resolves when there is room for this many, which then count as sent; false once closed. */
  async take(count: number): Promise<boolean> {
    while (!this.#closed && this.#sent + count - this.#arrived > this.most) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) return false;
    this.#sent += count;
    return true;
  }

  /** Sets the total number of arrivals. */
  arrived(total: number): void {
    this.#arrived = Math.max(this.#arrived, total);
    this.#wake();
  }

  /** Lets the sender end. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
