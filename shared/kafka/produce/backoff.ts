import { type ProduceError } from './errors';

/**
 * Tracks since when a partition or a topic accepts no records, and when to try it next. Times are in ms, by
 * `performance.now()`.
 */

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Leader elections and broker restarts may take this long, and are waited out. */
const BLOCKED_AFTER_MS = 1_000;

export class Backoff {
  #failures = 0;
  #since = Infinity;
  /** the last failure; undefined after a success */
  error: ProduceError | undefined;
  /** earliest time of the next try */
  notBefore = 0;
  /** true after a second of failures: callers should no longer wait without a limit */
  blocked = false;

  /** @param startedAt when the failed attempt started */
  failed(error: ProduceError, startedAt: number, now: number): void {
    this.error = error;
    this.#since = Math.min(this.#since, startedAt);
    this.blocked ||= now - this.#since >= BLOCKED_AFTER_MS;
    this.notBefore = now + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures++;
  }

  /** Allows a try immediately, when the cause of the failures is gone. Blocks only after another second of failures. */
  retry(): void {
    this.#failures = 0;
    this.#since = Infinity;
    this.notBefore = 0;
    this.blocked = false;
  }

  succeeded(): void {
    if (this.error === undefined) return;
    this.error = undefined;
    this.retry();
  }
}
