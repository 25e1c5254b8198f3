import { type Queued } from './message.js';

/** What waits to be sent. It counts a message until it is delivered or given up: that is what bounds the memory. */

/** What a queued message costs beside its text. */
const OVERHEAD_BYTES = 100;
const MAX_BATCH_CALLS = 2_500;

export class Queue {
  readonly #waiting: Queued[] = [];
  #taken = 0;
  #bytes = 0;
  #held = 0;
  #listeners: (() => void)[] = [];

  constructor(private readonly maxBytes: number) {}

  /** how many wait to be sent */
  get waiting(): number {
    return this.#waiting.length - this.#taken;
  }

  /** how many are neither delivered nor given up */
  get held(): number {
    return this.#held;
  }

  /** One message fits always, else a small limit would refuse it for ever. */
  roomFor(bytes: number): boolean {
    return this.#held === 0 || this.#bytes + bytes <= this.maxBytes;
  }

  /** False where there is no room. */
  push(message: Queued): boolean {
    const bytes = message.bytes + OVERHEAD_BYTES;
    if (!this.roomFor(bytes)) return false;
    this.#bytes += bytes;
    this.#held++;
    this.#waiting.push(message);
    return true;
  }

  /** The next batch: all that waits, up to what one request may carry. */
  take(limits: { maxBytes: number; maxCalls?: number }): Queued[] {
    const { maxBytes, maxCalls = MAX_BATCH_CALLS } = limits;
    const from = this.#taken;
    let bytes = 0;
    for (const message of this.#waiting.slice(from, from + maxCalls)) {
      bytes += message.bytes + 1;
      if (bytes > maxBytes && this.#taken > from) break;
      this.#taken++;
    }
    const batch = this.#waiting.slice(from, this.#taken);
    // Moving what is left for each batch would cost with the square of it.
    if (this.#taken * 2 >= this.#waiting.length) {
      this.#waiting.splice(0, this.#taken);
      this.#taken = 0;
    }
    return batch;
  }

  /** Forgets a batch that was delivered or given up. */
  settle(batch: readonly Queued[]): void {
    for (const message of batch) this.#bytes -= message.bytes + OVERHEAD_BYTES;
    this.#held -= batch.length;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** Resolves when something was settled. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.#listeners.push(resolve));
  }
}
