import { type Signal } from './signal';

/**
 * How many requests an endpoint is given at once, and how long it takes for one: pure, learnt from its answers.
 *
 * While it is in full use and answers as quickly as it does when it has little to do, it grows: twofold with each round
 * trip until the first sign of trouble, and by one from then on. Half after a wave of timeouts or 429; a tenth less after
 * a wave that took far longer. What broke while its lane was wide is led back there slowly. A wave is what was already
 * under way at the last step down: it tells of the width before that step, and must not be counted again.
 */

export interface ConcurrencyOptions {
  floor: number;
  start: number;
  ceiling: number;
}

/** An answer, or the lack of one; times in ms by the loop clock. */
export interface EndedRequest {
  startedAt: number;
  now: number;
  /** what the clock left out between the two: the endpoint may have needed that long too */
  stoodStillMs?: number;
  /** all places were taken until now */
  inFullUse: boolean;
}

/** A pace before anything has completed: neither trusting nor suspicious. */
const FIRST_GUESS_MS = 100;
const SMOOTHING = 0.1;
/** So many answers make the first idea of what is usual; one alone may have opened the connection. */
const FIRST_ANSWERS = 20;
/** The loop clock is as coarse as its tick: differences of this size are none. */
const SLACK_MS = 10;
/** Times the usual latency: up to the one it grows, beyond the other it shrinks. */
const QUICK = 2;
const SLOW = 4;
/** Shorter silences are a pause of its garbage collector, or a packet that was sent twice. */
const LEAST_SILENCE_MS = 500;
/** What waits for an endpoint that takes longer waits for it, and hardly for us. */
const LEAST_SLOW_MS = 500;
/**
 * What is usual follows upwards in so many ms, and only while the limit is no wider than at the start: else the delay
 * that we cause ourselves would become usual.
 */
const RISE_MS = 5_000;
/** Beyond half the width at which it broke, one place more in so many rounds: it is likely to break there again. */
const ROUNDS_TO_BREAK = 50;

export class ConcurrencyLimit {
  #limit: number;
  /** nothing has gone wrong yet: it doubles */
  #slowStart = true;
  /** it broke when it was given twice as many */
  #brokeAt = Infinity;
  #meanMs = FIRST_GUESS_MS;
  /** the same, with the time that the clock left out */
  #mostMs = FIRST_GUESS_MS;
  #usualMs = FIRST_GUESS_MS;
  #answers = 0;
  #answeredAt = 0;
  #shrunkAt = -Infinity;

  constructor(private readonly options: ConcurrencyOptions) {
    this.#limit = options.start;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Recent time for one request, ms. */
  get meanMs(): number {
    return this.#meanMs;
  }

  /** Whether it takes long even where it has little to do. */
  get slow(): boolean {
    return this.#usualMs > LEAST_SLOW_MS;
  }

  /** After how long without any answer it seems to hang, ms. */
  get silenceMs(): number {
    return Math.max(LEAST_SILENCE_MS, SLOW * this.#usualMs);
  }

  /** Whether it may be expected to grow on where it is in full use. */
  get growing(): boolean {
    return this.#limit < this.options.ceiling && this.#quick;
  }

  get #quick(): boolean {
    return this.#meanMs <= QUICK * this.#usualMs + SLACK_MS;
  }

  ended(signal: Signal, { startedAt, now, stoodStillMs = 0, inFullUse }: EndedRequest): void {
    if (signal.kind === 'withdrawn') return;
    this.#learn(signal, now - startedAt, stoodStillMs, now);
    const newWave = startedAt >= this.#shrunkAt;
    if (this.#slowStart && (signal.kind !== 'ok' || !this.#quick)) this.#endSlowStart(signal, now);
    if (signal.kind === 'timeout' || signal.kind === 'throttled') {
      if (newWave) this.#shrink(this.#limit / 2, now);
    } else if (signal.kind === 'ok' && this.#meanMs > SLOW * this.#usualMs + SLACK_MS) {
      // Not below the start: an endpoint that has become slower for reasons of its own is not helped by fewer.
      if (newWave && this.#limit > this.options.start)
        this.#shrink(Math.max(this.options.start, this.#limit * 0.9), now);
    } else if (signal.kind === 'ok' && inFullUse && this.growing) {
      this.#grow();
    }
  }

  /** Failures opened its circuit. Where it had no more than at the start, that says nothing of how many it can bear. */
  broke(): void {
    if (this.#limit > this.options.start) this.#brokeAt = Math.max(this.options.start, this.#limit / 2);
  }

  /** It answers again after an outage: the timeouts of that time say nothing of its pace. */
  restart(latencyMs: number): void {
    this.#limit = this.options.start;
    this.#slowStart = false;
    this.#meanMs = latencyMs;
    this.#mostMs = latencyMs;
    this.#shrunkAt = -Infinity;
  }

  /**
   * How long so many jobs take, ms, at the width it has and will have grown to by then.
   * @param oneMs for one request
   * @param width places that can be used now, where that is fewer than the limit
   */
  drainMs(jobs: number, oneMs: number, width: number): number {
    if (!this.growing || width < this.limit) return (jobs / width) * oneMs;
    const ceiling = Math.max(width, Math.min(this.options.ceiling, this.#brokeAt));
    if (this.#slowStart) {
      // Twice as many places per round: after k rounds, width * (2^k - 1) are through.
      const whileGrowing = Math.min(jobs, ceiling - width);
      return (Math.log2(1 + whileGrowing / width) + (jobs - whileGrowing) / ceiling) * oneMs;
    }
    // One more place per round: after k rounds, width * k + k² / 2 are through.
    const rounds = Math.sqrt(width * width + 2 * jobs) - width;
    const toCeiling = ceiling - width;
    if (rounds <= toCeiling) return rounds * oneMs;
    const rest = jobs - toCeiling * (width + toCeiling / 2);
    return (toCeiling + rest / ceiling) * oneMs;
  }

  #grow(): void {
    const rounds = this.#limit < this.#brokeAt ? 1 : ROUNDS_TO_BREAK;
    const step = this.#slowStart ? 1 : 1 / (this.#limit * rounds);
    this.#limit = Math.min(this.options.ceiling, this.#limit + step);
    // It bears what it broke at.
    if (this.#limit >= 2 * this.#brokeAt) this.#brokeAt = Infinity;
  }

  /** The first sign of trouble. Where it is that answers got slower, the last doubling was too much. */
  #endSlowStart(signal: Signal, now: number): void {
    this.#slowStart = false;
    if (signal.kind === 'ok') this.#shrink(Math.max(this.options.start, this.#limit / 2), now);
  }

  #shrink(limit: number, now: number): void {
    this.#limit = Math.max(this.options.floor, limit);
    this.#shrunkAt = now;
  }

  /**
   * What an answer took lies between the time that the clock counted and that with what it left out. Slow is judged by
   * the least of it, and what is usual by the most: else a busy start of ours would make 20 ms usual for an endpoint
   * that takes 100, and all its answers slow from then on.
   */
  #learn(signal: Signal, leastMs: number, stoodStillMs: number, now: number): void {
    const weight = signal.kind === 'ok' ? Math.max(SMOOTHING, 1 / ++this.#answers) : SMOOTHING;
    this.#meanMs += weight * (leastMs - this.#meanMs);
    if (signal.kind !== 'ok') return;
    this.#mostMs += weight * (leastMs + stoodStillMs - this.#mostMs);
    const first = this.#answers <= FIRST_ANSWERS;
    const mayRise = this.#limit <= this.options.start && this.#meanMs > this.#usualMs;
    if (first) this.#usualMs = this.#mostMs;
    else if (this.#mostMs < this.#usualMs) this.#usualMs += SMOOTHING * (this.#mostMs - this.#usualMs);
    else if (mayRise) this.#usualMs += Math.min(1, (now - this.#answeredAt) / RISE_MS) * (this.#meanMs - this.#usualMs);
    this.#answeredAt = now;
  }
}
