import { type Refusal, type Signal } from './job';

/**
 * Decides whether an endpoint may be asked at all. Pure, one per URL; `now` is the stall clock's.
 *
 * - `closed` lets everything through. It becomes `open` after enough failures in a row, or after
 *   fewer timeouts in silence.
 * - `open` lets one probe through at a time, with pauses. It becomes `recovering` when a probe is
 *   answered.
 * - `recovering` lets `limit` through at once: 1, then 1 more with each success. It becomes
 *   `closed` at the usual limit, and `open` after enough failures in a row.
 *
 * A request that a user sends now probes at once. A `Retry-After` holds everything else back but
 * last attempts; an egress proxy that is away (http/proxy-gate.ts) holds back everything. When that
 * is over, the endpoint recovers as after an outage.
 *
 * Invariant: only results of requests that began in the present state count. A request sent before
 * the circuit opened says nothing about the present, good or bad.
 */

export interface CircuitOptions {
  /** failures in a row that open it */
  failuresToOpen: number;
  /**
   * the same for timeouts of an endpoint that has been silent since the requests began; fewer,
   * since each holds a socket
   */
  silentToOpen: number;
  /**
   * ms between the end of a failed probe and the next; grows with each failure up to
   * `longestPauseMs`
   */
  probePauseMs: number;
  longestPauseMs: number;
  /** longest time that a `Retry-After` is obeyed, ms: the endpoint is asked again after it */
  longestHoldMs: number;
  /** concurrent requests at which a recovering endpoint counts as recovered */
  recoveredAt: number;
}

export type CircuitState = 'closed' | 'open' | 'recovering';
/**
 * The effect of a result: `responded` closes an open circuit, `retry_after` follows a
 * `Retry-After`.
 */
export type CircuitChange = 'opened' | 'responded' | 'retry_after' | undefined;
/** Identifies the period in which a request began and for which its result counts. */
export type Period = number;

/**
 * Small: a probe costs one request, and each pause adds to the time in which a recovery goes
 * unnoticed.
 */
const PAUSE_GROWTH = 1.25;

export class Circuit {
  #state: CircuitState = 'closed';
  #period: Period = 0;
  #failures = 0;
  /** timeouts in a row during silence */
  #silent = 0;
  #answeredAt = -Infinity;
  /** when the present outage began: the circuit opened, or the endpoint sent `Retry-After` */
  #awaySince: number | undefined;
  #probing = false;
  #probeAt = 0;
  #pauseMs = 0;
  #notBefore = -Infinity;
  #limit = Infinity;
  /** of the egress proxy before the endpoint, which several lanes share; absent: none */
  gate: { refusal(origin: string): Refusal | undefined } | undefined;
  /** when a request last began because a user insisted */
  #insistedAt = -Infinity;

  /** @param origin of the endpoint */
  constructor(
    private readonly options: CircuitOptions,
    private readonly origin = '',
  ) {}

  get state(): CircuitState {
    return this.#state;
  }

  /** The most concurrent requests; a lane may allow fewer. */
  get limit(): number {
    return this.#limit;
  }

  /** Returns whether the endpoint has sent nothing, good or bad, since then. */
  silentSince(at: number): boolean {
    return this.#answeredAt <= at;
  }

  /** The most concurrent requests during silence: enough to detect that it hangs, and no more. */
  get silentLimit(): number {
    return Math.max(1, this.options.silentToOpen - this.#silent);
  }

  /**
   * Returns why no request may begin now, except for a probe that `mayProbe` allows.
   * @param passesHold a `Retry-After` does not hold it back: the last attempt of a delivery
   */
  refusal(now: number, passesHold = false): Refusal | undefined {
    if (this.#state === 'open') {
      return { reason: 'circuit_open', waitMs: now - (this.#awaySince ?? now) };
    }
    const waitMs = this.#notBefore - now;
    const isHeld = waitMs > 0 && !passesHold;
    return isHeld ? { reason: 'retry_after', waitMs } : this.gate?.refusal(this.origin);
  }

  mayProbe(now: number): boolean {
    return (
      this.#state === 'open' &&
      !this.#probing &&
      now >= this.#probeAt &&
      now >= this.#notBefore &&
      !this.gate?.refusal(this.origin)
    );
  }

  /**
   * Returns whether a request that a user sends now may begin, alone, although no other may yet. It
   * never passes an egress proxy that is away, since it would spend its attempt there.
   * @param how `sometimes`: one of many, so that a dead endpoint uses up few of their attempts
   */
  insist(how: 'always' | 'sometimes', now: number): boolean {
    const tooSoon = how === 'sometimes' && now < this.#insistedAt + this.options.probePauseMs;
    if (tooSoon || !this.refusal(now) || this.gate?.refusal(this.origin)) return false;
    this.#insistedAt = now;
    return true;
  }

  /** Records that a request begins: the probe, if the circuit is open. */
  began(): Period {
    if (this.#state === 'open') this.#probing = true;
    return this.#period;
  }

  /** @param startedAt of the request */
  observe(period: Period, signal: Signal, now: number, startedAt = now): CircuitChange {
    if (signal.kind !== 'timeout' && signal.kind !== 'withdrawn') this.#answeredAt = now;
    const holdMs = signal.kind === 'throttled' ? signal.retryAfterMs : undefined;
    if (holdMs !== undefined) this.#hold(holdMs, now);
    if (period !== this.#period) return holdMs === undefined ? undefined : 'retry_after';
    if (this.#state === 'open') return this.#probed(signal, now);
    if (holdMs !== undefined) {
      this.#awaySince ??= now;
      return this.#recover('retry_after');
    }
    if (isAnswer(signal)) this.#succeeded();
    if (isAnswer(signal) || signal.kind === 'withdrawn') return undefined;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#failures++;
    this.#silent = signal.kind === 'timeout' && this.silentSince(startedAt) ? this.#silent + 1 : 0;
    const { failuresToOpen, silentToOpen } = this.options;
    return this.#failures >= failuresToOpen || this.#silent >= silentToOpen
      ? this.#open(now)
      : undefined;
  }

  #hold(retryAfterMs: number, now: number): void {
    this.#notBefore = Math.max(
      this.#notBefore,
      now + Math.min(retryAfterMs, this.options.longestHoldMs),
    );
  }

  #open(now: number): CircuitChange {
    // An outage lasts until its recovery is complete: if the endpoint fails again, it has been away
    // since the beginning.
    this.#awaySince ??= now;
    this.#state = 'open';
    this.#period++;
    this.#failures = this.#silent = 0;
    this.#probing = false;
    this.#pauseMs = this.options.probePauseMs;
    this.#probeAt = now + this.#pauseMs;
    return 'opened';
  }

  #probed(signal: Signal, now: number): CircuitChange {
    this.#probing = false;
    if (isAnswer(signal)) return this.#recover('responded');
    if (signal.kind === 'withdrawn') return undefined;
    this.#probeAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * PAUSE_GROWTH, this.options.longestPauseMs);
    return undefined;
  }

  #recover(change: 'responded' | 'retry_after'): CircuitChange {
    this.#state = 'recovering';
    this.#period++;
    this.#failures = this.#silent = 0;
    this.#limit = 1;
    return change;
  }

  #succeeded(): void {
    this.#failures = this.#silent = 0;
    if (this.#state !== 'recovering' || ++this.#limit < this.options.recoveredAt) return;
    this.#state = 'closed';
    this.#limit = Infinity;
    this.#awaySince = undefined;
  }
}

/** An odd response is one, too: its endpoint is there. */
function isAnswer({ kind }: Signal): boolean {
  return kind === 'ok' || kind === 'irregular';
}
