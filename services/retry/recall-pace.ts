/**
 * The pace of a recall: a slow start, so that an endpoint that has just recovered is asked for
 * little at first. Pure. The lanes of delivery decide how many requests run. The pace keeps their
 * queues from overflowing.
 */

const FIRST_PER_SECOND = 10;
/**
 * The rate doubles in this time: a thousand have left after 1.1 s, and two thousand after 1.6 s.
 */
const DOUBLES_MS = 100;
/**
 * Of one search: a hundred thousand leave within a minute. Most endpoints take less, and their
 * lanes send the rest to tiers again, which costs more than a request.
 */
const MOST_PER_SECOND = 2_000;
/** Tokens saved up, as seconds of the rate: a busy machine is late now and then. */
const BURST_S = 0.5;
/**
 * Those of this time leave together: each batch costs a request to Kafka for its copies, and one
 * for its note.
 */
const BATCH_S = 0.05;
/** Longest wait for the next token. */
const LONGEST_WAIT_MS = 1_000;

export class RecallPace {
  readonly #begunAt: number;
  #at: number;
  #tokens = 1;

  /** @param most per second; undefined for the most that a process sends */
  constructor(
    nowMs: number,
    private readonly most: () => number | undefined,
  ) {
    this.#begunAt = this.#at = nowMs;
  }

  /** Takes up to this many tokens. @returns how many; 0 if it must wait */
  take(wanted: number, nowMs: number): number {
    const perSecond = this.#perSecond(nowMs);
    const earned = ((nowMs - this.#at) * perSecond) / 1_000;
    this.#tokens = Math.min(Math.max(1, perSecond * BURST_S), this.#tokens + earned);
    this.#at = nowMs;
    if (this.#tokens < this.#batch(wanted, nowMs)) return 0;
    const taken = Math.min(wanted, Math.floor(this.#tokens));
    this.#tokens -= taken;
    return taken;
  }

  /** Returns the time until the next batch of so many, ms. */
  waitMs(wanted: number, nowMs: number): number {
    const missing = Math.max(0, this.#batch(wanted, nowMs) - this.#tokens);
    return Math.min(
      LONGEST_WAIT_MS,
      Math.max(1, Math.ceil((missing * 1_000) / this.#perSecond(nowMs))),
    );
  }

  #batch(wanted: number, nowMs: number): number {
    return Math.max(1, Math.min(wanted, this.#perSecond(nowMs) * BATCH_S));
  }

  #perSecond(nowMs: number): number {
    const ramp = FIRST_PER_SECOND * 2 ** Math.min(20, (nowMs - this.#begunAt) / DOUBLES_MS);
    return Math.min(ramp, MOST_PER_SECOND, this.most() ?? Infinity);
  }
}
