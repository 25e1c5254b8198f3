import { type Signal } from './job';

/**
 * Learns from results how many concurrent requests an endpoint bears, and how long a request takes.
 * Pure.
 *
 * While the limit is in full use and latency is as low as with little load, the limit grows: it
 * doubles each round trip until the first sign of trouble, and grows by one from then on. It halves
 * after a wave of timeouts or 429, and shrinks by a tenth after a wave that took far longer. A
 * limit at which the endpoint broke is approached slowly afterwards. A wave is the set of requests
 * already under way at the last decrease: it reflects the limit before that decrease, and must not
 * be counted again. A wave with an irregular response halves the limit, down to the start limit.
 */

export interface ConcurrencyOptions {
  floor: number;
  start: number;
  ceiling: number;
}

/** The times of a request that ended, with a response or without; ms by the stall clock. */
export interface RequestTimes {
  startedAt: number;
  now: number;
  /** stall time between the two, which the clock left out: the endpoint may have needed it too */
  stalledMs?: number;
  /** true if all places were taken until now */
  inFullUse: boolean;
}

/** Latency assumed before any request has completed: neither optimistic nor pessimistic. */
const FIRST_GUESS_MS = 100;
const SMOOTHING = 0.1;
/**
 * Responses that form the first estimate of the usual latency; a single one may include opening the
 * connection.
 */
const FIRST_RESPONSES = 20;
/** Differences of this size are ignored: the stall clock is as coarse as its tick. */
const SLACK_MS = 10;
/**
 * Multiples of the usual latency: the limit grows up to the first, and shrinks beyond the second.
 */
const QUICK = 2;
const SLOW = 4;
/** Shorter silences are a garbage collection pause of the endpoint, or a retransmitted packet. */
const LEAST_SILENCE_MS = 500;
/** Endpoints slower than this cause most of the wait themselves; this process hardly adds to it. */
const LEAST_SLOW_MS = 500;
/**
 * Time constant with which the usual latency rises, ms. It rises only while the limit is at most
 * the start limit: otherwise delay that we cause ourselves would become usual.
 */
const RISE_MS = 5_000;
/**
 * Number of rounds in which the limit grows by one, once it is beyond half the limit at which the
 * endpoint broke: it is likely to break there again.
 */
const ROUNDS_TO_BREAK = 50;

export class ConcurrencyLimit {
  #limit: number;
  /** no trouble yet: the limit doubles */
  #slowStart = true;
  /** the endpoint broke at twice this limit */
  #brokeAt = Infinity;
  #meanMs = FIRST_GUESS_MS;
  /** the same, including the time that the clock left out */
  #mostMs = FIRST_GUESS_MS;
  #usualMs = FIRST_GUESS_MS;
  #responses = 0;
  #respondedAt = 0;
  #shrunkAt = -Infinity;

  constructor(private readonly options: ConcurrencyOptions) {
    this.#limit = options.start;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Recent duration of one request, ms. */
  get meanMs(): number {
    return this.#meanMs;
  }

  /** True if the endpoint is slow even with little load. */
  get slow(): boolean {
    return this.#usualMs > LEAST_SLOW_MS;
  }

  /** Time without any response after which the endpoint seems to hang, ms. */
  get silenceMs(): number {
    return Math.max(LEAST_SILENCE_MS, SLOW * this.#usualMs);
  }

  /** True while the limit is expected to keep growing in full use. */
  get growing(): boolean {
    return this.#limit < this.options.ceiling && this.#quick;
  }

  get #quick(): boolean {
    return this.#meanMs <= QUICK * this.#usualMs + SLACK_MS;
  }

  adjust(signal: Signal, { startedAt, now, stalledMs = 0, inFullUse }: RequestTimes): void {
    if (signal.kind === 'withdrawn') return;
    this.#learn(signal, now - startedAt, stalledMs, now);
    const newWave = startedAt >= this.#shrunkAt;
    if (this.#slowStart && (signal.kind !== 'ok' || !this.#quick)) this.#endSlowStart(signal, now);
    if (signal.kind === 'timeout' || signal.kind === 'throttled') {
      if (newWave) this.#shrink(this.#limit / 2, now);
    } else if (signal.kind === 'irregular') {
      if (newWave && this.#limit > this.options.start) {
        this.#shrink(Math.max(this.options.start, this.#limit / 2), now);
      }
    } else if (signal.kind === 'ok' && this.#meanMs > SLOW * this.#usualMs + SLACK_MS) {
      // Not below the start: an endpoint that became slower for its own reasons gains nothing from
      // fewer requests.
      if (newWave && this.#limit > this.options.start) {
        this.#shrink(Math.max(this.options.start, this.#limit * 0.9), now);
      }
    } else if (signal.kind === 'ok' && inFullUse && this.growing) {
      this.#grow();
    }
  }

  /**
   * Records that failures opened the circuit. At or below the start limit, that says nothing about
   * the endpoint's capacity.
   */
  broke(): void {
    if (this.#limit > this.options.start) {
      this.#brokeAt = Math.max(this.options.start, this.#limit / 2);
    }
  }

  /**
   * Restarts when the endpoint answers after an outage: timeouts during the outage say nothing
   * about its latency.
   */
  restart(latencyMs: number): void {
    this.#limit = this.options.start;
    this.#slowStart = false;
    this.#meanMs = latencyMs;
    this.#mostMs = latencyMs;
    this.#shrunkAt = -Infinity;
  }

  /**
   * Estimates the time for this many jobs, ms, at the present limit and its expected growth.
   * @param oneMs for one request
   * @param width places that can be used now, if fewer than the limit
   */
  drainMs(jobs: number, oneMs: number, width: number): number {
    if (!this.growing || width < this.limit) return (jobs / width) * oneMs;
    const ceiling = Math.max(width, Math.min(this.options.ceiling, this.#brokeAt));
    if (this.#slowStart) {
      // The width doubles each round: k rounds complete width * (2^k - 1).
      const whileGrowing = Math.min(jobs, ceiling - width);
      return (Math.log2(1 + whileGrowing / width) + (jobs - whileGrowing) / ceiling) * oneMs;
    }
    // The width grows by one each round: k rounds complete width * k + k² / 2.
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
    // The endpoint now bears the limit at which it broke.
    if (this.#limit >= 2 * this.#brokeAt) this.#brokeAt = Infinity;
  }

  /**
   * Ends slow start at the first sign of trouble. If the sign is higher latency, the last doubling
   * was too much.
   */
  #endSlowStart(signal: Signal, now: number): void {
    this.#slowStart = false;
    if (signal.kind === 'ok') this.#shrink(Math.max(this.options.start, this.#limit / 2), now);
  }

  #shrink(limit: number, now: number): void {
    this.#limit = Math.max(this.options.floor, limit);
    this.#shrunkAt = now;
  }

  /**
   * Updates the latencies. The true duration of a request lies between the time that the clock
   * counted and that time plus the stalls. The lower bound decides if the endpoint is slow, and the
   * upper bound sets the usual latency: otherwise our own busy start would make 20 ms usual for an
   * endpoint that takes 100 ms, and all its later responses would look slow.
   */
  #learn(signal: Signal, leastMs: number, stalledMs: number, now: number): void {
    const weight = signal.kind === 'ok' ? Math.max(SMOOTHING, 1 / ++this.#responses) : SMOOTHING;
    this.#meanMs += weight * (leastMs - this.#meanMs);
    if (signal.kind !== 'ok') return;
    this.#mostMs += weight * (leastMs + stalledMs - this.#mostMs);
    const first = this.#responses <= FIRST_RESPONSES;
    const mayRise = this.#limit <= this.options.start && this.#meanMs > this.#usualMs;
    if (first) this.#usualMs = this.#mostMs;
    else if (this.#mostMs < this.#usualMs) {
      this.#usualMs += SMOOTHING * (this.#mostMs - this.#usualMs);
    } else if (mayRise) {
      this.#usualMs +=
        Math.min(1, (now - this.#respondedAt) / RISE_MS) * (this.#meanMs - this.#usualMs);
    }
    this.#respondedAt = now;
  }
}
