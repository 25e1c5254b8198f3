import { type Refusal } from './types';
import { type Signal } from './signal';

/**
 * Whether an endpoint is worth asking at all: pure, one per URL, `now` is the loop clock's.
 *
 * | state        | lets through                    | becomes                                                             |
 * | ------------ | ------------------------------- | ------------------------------------------------------------------- |
 * | `closed`     | everything                      | `open` after so many failures in a row, or fewer timeouts in silence |
 * | `open`       | one probe at a time, with pauses | `recovering` when a probe is answered                               |
 * | `recovering` | `limit` at once: 1, then 1 more with each success | `closed` at the usual limit; `open` after so many failures in a row |
 *
 * Beside it, `Retry-After` holds everything back; when that is over, the endpoint recovers as after an outage.
 *
 * Invariant: only answers to requests that began in the present state count. What was sent before a circuit opened says
 * nothing about now, good or bad.
 */

export interface CircuitOptions {
  /** failures in a row that open it */
  failuresToOpen: number;
  /** the same for timeouts of an endpoint that has said nothing at all since they began; fewer, since each holds a socket */
  silentToOpen: number;
  /** ms between the end of a failed probe and the next; grows with each to at most `longestPauseMs` */
  probePauseMs: number;
  longestPauseMs: number;
  /** no `Retry-After` holds longer, ms: after that, the endpoint is asked again */
  longestHoldMs: number;
  /** where a recovering endpoint counts as recovered: so many at once */
  recoveredAt: number;
}

export type CircuitState = 'closed' | 'open' | 'recovering';
/** What came of an answer: `answering` closes an open circuit, `held` follows a `Retry-After`. */
export type CircuitChange = 'opened' | 'answering' | 'held' | undefined;
/** Given to a request when it begins: the period that its answer counts for. */
export type Period = number;

/** Gentle: a probe costs one request, and each pause is added to the time in which a recovery goes unnoticed. */
const PAUSE_GROWTH = 1.25;

export class Circuit {
  #state: CircuitState = 'closed';
  #period: Period = 0;
  #failures = 0;
  /** timeouts in a row, in silence */
  #silent = 0;
  #heardAt = -Infinity;
  /** when the present outage began: it opened, or was asked for time */
  #awaySince: number | undefined;
  #probing = false;
  #probeAt = 0;
  #pauseMs = 0;
  #heldUntil = -Infinity;
  #limit = Infinity;

  constructor(private readonly options: CircuitOptions) {}

  get state(): CircuitState {
    return this.#state;
  }

  /** How many may be open at once; a lane may allow fewer. */
  get limit(): number {
    return this.#limit;
  }

  /** Whether nothing at all, good or bad, was heard of it since then. */
  silentSince(at: number): boolean {
    return this.#heardAt <= at;
  }

  /** How many may be open at once while it is silent: enough to find out that it hangs, and no more. */
  get silentLimit(): number {
    return Math.max(1, this.options.silentToOpen - this.#silent);
  }

  /** Why nothing may begin now; a probe may where `mayProbe` says so. */
  refusal(now: number): Refusal | undefined {
    if (this.#state === 'open') return { reason: 'circuit_open', waitMs: now - (this.#awaySince ?? now) };
    const waitMs = this.#heldUntil - now;
    return waitMs > 0 ? { reason: 'retry_after', waitMs } : undefined;
  }

  mayProbe(now: number): boolean {
    return this.#state === 'open' && !this.#probing && now >= this.#probeAt && now >= this.#heldUntil;
  }

  /** A request begins: the probe, where the circuit is open. */
  began(): Period {
    if (this.#state === 'open') this.#probing = true;
    return this.#period;
  }

  /** @param startedAt of the request */
  ended(period: Period, signal: Signal, now: number, startedAt = now): CircuitChange {
    if (signal.kind !== 'timeout' && signal.kind !== 'withdrawn') this.#heardAt = now;
    const holdMs = signal.kind === 'throttled' ? signal.retryAfterMs : undefined;
    if (holdMs !== undefined) this.#hold(holdMs, now);
    if (period !== this.#period) return holdMs === undefined ? undefined : 'held';
    if (this.#state === 'open') return this.#probed(signal, now);
    if (holdMs !== undefined) {
      this.#awaySince ??= now;
      return this.#recover('held');
    }
    if (signal.kind === 'ok') this.#succeeded();
    if (signal.kind === 'ok' || signal.kind === 'withdrawn') return undefined;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    this.#failures++;
    this.#silent = signal.kind === 'timeout' && this.silentSince(startedAt) ? this.#silent + 1 : 0;
    const { failuresToOpen, silentToOpen } = this.options;
    return this.#failures >= failuresToOpen || this.#silent >= silentToOpen ? this.#open(now) : undefined;
  }

  #hold(retryAfterMs: number, now: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, now + Math.min(retryAfterMs, this.options.longestHoldMs));
  }

  #open(now: number): CircuitChange {
    // An outage is not over before its recovery is: one that fails again has been away since it began.
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
    if (signal.kind === 'ok') return this.#recover('answering');
    if (signal.kind === 'withdrawn') return undefined;
    this.#probeAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * PAUSE_GROWTH, this.options.longestPauseMs);
    return undefined;
  }

  #recover(change: 'answering' | 'held'): CircuitChange {
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
