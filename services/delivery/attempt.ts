import { type UrlAttempt } from '../../shared/model/attempt-events';
import { type JudgedResponse } from './http/judge-response';
import { type Refusal } from './lanes/types';
import { type DeliveryInHand, type AttemptResult } from './outcome';
import { type Target } from './endpoints';

/**
 * One attempt of one delivery: one POST to each URL that is open to it, side by side.
 *
 * Invariant: it is settled once, by the first 2xx or, without one, by its last answer; what ends after that is late,
 * and is recorded, but decides nothing.
 */

export type AttemptProgress =
  /** a 2xx, or the last answer: `tried` decides what becomes of the delivery */
  | { kind: 'settled'; tried: AttemptResult }
  /** an answer after the settling one */
  | { kind: 'late'; tried: AttemptResult }
  | { kind: 'open' };

export class Attempt {
  #urls: UrlAttempt[] = [];
  #rejected: string[] = [];
  #retryAfterMs: number | undefined;
  #settled = false;
  #pending = 0;
  #asked = false;
  /** why URLs were left out: their lanes did not take it, or what was queued may no longer go (undefined) */
  readonly #skipped: (Refusal | undefined)[] = [];

  constructor(
    readonly held: DeliveryInHand,
    private readonly startedAt: number,
  ) {}

  get settled(): boolean {
    return this.#settled;
  }

  /** Requests begun or queued, and not ended. */
  get pending(): number {
    return this.#pending;
  }

  /** Whether there was an answer, or the lack of one. */
  get asked(): boolean {
    return this.#asked;
  }

  /** Why no URL was asked, where lanes said so of all that were left out. */
  get refusals(): readonly [Refusal, ...Refusal[]] | undefined {
    const known = this.#skipped.filter((refusal) => refusal !== undefined);
    const [first, ...others] = known;
    return first && known.length === this.#skipped.length ? [first, ...others] : undefined;
  }

  /** A request to a URL begins, or waits in its lane. */
  begin(): void {
    this.#pending++;
  }

  /** It was taken out of its lane, since its delivery is settled. */
  withdraw(): void {
    this.#pending--;
  }

  /** It is left out of this attempt. @param refusal what its lane said, if that is why */
  skip(refusal?: Refusal): void {
    this.#pending--;
    this.#skipped.push(refusal);
  }

  /** An answer (or none) at one URL. @param now by the clock of `startedAt` */
  ended(target: Target, judged: JudgedResponse, now: number): AttemptProgress {
    this.#pending--;
    this.#asked = true;
    if (this.#settled) {
      return {
        kind: 'late',
        tried: { urls: [judged.attempt], rejected: [], skipped: false, durationMs: now - this.startedAt },
      };
    }
    this.note(target, judged);
    if (judged.outcome !== 'delivered' && this.#pending > 0) return { kind: 'open' };
    return { kind: 'settled', tried: this.settle(now) };
  }

  /** Adds an answer without deciding anything (a URL that can never be sent to). */
  note(target: Target, judged: JudgedResponse): void {
    this.#urls.push(judged.attempt);
    if (judged.outcome === 'rejected') this.#rejected.push(target.hash);
    if (judged.retryAfterMs !== undefined) this.#retryAfterMs = Math.max(judged.retryAfterMs, this.#retryAfterMs ?? 0);
  }

  settle(now: number): AttemptResult {
    this.#settled = true;
    return {
      urls: this.#urls,
      rejected: this.#rejected,
      skipped: this.#skipped.length > 0,
      durationMs: Math.round(now - this.startedAt),
      ...(this.#retryAfterMs === undefined ? {} : { retryAfterMs: this.#retryAfterMs }),
    };
  }
}
