import { type ProduceError } from './errors';

/**
 * Tracks since when a partition or a topic takes no records, and when to try it next. Times are in ms, by
 * `performance.now()`.
 */

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** An election of leaders or a restart of a broker may take so long, and is waited out. */
const BLOCKED_AFTER_MS = 1_000;

export class Backoff {
  #failures = 0;
  #since = Infinity;
  /** the last failure; undefined while all is well */
  error: ProduceError | undefined;
  /** not to be tried again before */
  notBefore = 0;
  /** It has failed for long enough that no one should wait for it without a bound. */
  blocked = false;

  /** @param startedAt when the attempt that failed was begun */
  failed(error: ProduceError, startedAt: number, now: number): void {
    this.error = error;
    this.#since = Math.min(this.#since, startedAt);
    this.blocked ||= now - this.#since >= BLOCKED_AFTER_MS;
    this.notBefore = now + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures++;
  }

  /** The reason of the failures is over: it is tried at once, and is blocked only after another second of failures. */
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
