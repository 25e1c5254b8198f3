import { type Queued } from './message.js';

/**
 * The calls that wait. The queue counts each until it is delivered or given up, and so bounds the
 * memory.
 */

/** Memory of a queued message beyond its text. */
const OVERHEAD_BYTES = 100;
const MAX_BATCH_CALLS = 2_500;

export class Queue {
  readonly #waiting: Queued[] = [];
  #taken = 0;
  #bytes = 0;
  #held = 0;
  #listeners: (() => void)[] = [];

  constructor(private readonly maxBytes: number) {}

  /** number of calls that wait */
  get waiting(): number {
    return this.#waiting.length - this.#taken;
  }

  /** number of calls that are neither delivered nor given up */
  get held(): number {
    return this.#held;
  }

  /** One message always fits, because a small limit would refuse it forever. */
  roomFor(bytes: number): boolean {
    return this.#held === 0 || this.#bytes + bytes <= this.maxBytes;
  }

  /** Returns false if the queue is full. */
  push(message: Queued): boolean {
    const bytes = message.bytes + OVERHEAD_BYTES;
    if (!this.roomFor(bytes)) return false;
    this.#bytes += bytes;
    this.#held++;
    this.#waiting.push(message);
    return true;
  }

  /** Returns the next batch: all waiting calls, up to the limits of a request. */
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
    // Moving the rest for each batch would take quadratic time.
    if (this.#taken * 2 >= this.#waiting.length) {
      this.#waiting.splice(0, this.#taken);
      this.#taken = 0;
    }
    return batch;
  }

  /** Removes a batch that was delivered or given up. */
  settle(batch: readonly Queued[]): void {
    for (const message of batch) this.#bytes -= message.bytes + OVERHEAD_BYTES;
    this.#held -= batch.length;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  /** Resolves when a batch was delivered or given up. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.#listeners.push(resolve));
  }
}
