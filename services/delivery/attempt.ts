import { type UrlAttempt } from '../../shared/model/attempt-events';
import { type JudgedResponse } from './http/judge-response';
import { type Refusal } from './lanes/types';
import { type DeliveryInHand, type AttemptResult } from './outcome';
import { type Target } from './endpoints';

/**
 * One attempt of one delivery: one concurrent POST to each URL that is open to it.
 *
 * Invariant: an attempt is settled once, by the first 2xx or, without one, by the last response. Responses after that
 * are late: they are recorded, but decide nothing.
 */

export type AttemptProgress =
  /** a 2xx, or the last response: `tried` decides what happens to the delivery */
  | { kind: 'settled'; tried: AttemptResult }
  /** a response after the settling one */
  | { kind: 'late'; tried: AttemptResult }
  | { kind: 'open' };

export class Attempt {
  #urls: UrlAttempt[] = [];
  #rejected: string[] = [];
  #retryAfterMs: number | undefined;
  #settled = false;
  #pending = 0;
  #asked = false;
  /** why URLs were left out: the refusal of the lane, or undefined if a queued request may no longer be sent */
  readonly #skipped: (Refusal | undefined)[] = [];

  constructor(
    readonly held: DeliveryInHand,
    private readonly startedAt: number,
  ) {}

  get settled(): boolean {
    return this.#settled;
  }

  /** Requests that were begun or queued and have not ended. */
  get pending(): number {
    return this.#pending;
  }

  /** True once any request has ended, with a response or without. */
  get asked(): boolean {
    return this.#asked;
  }

  /** Returns the refusals if lanes refused every URL that was left out, and undefined otherwise. */
  get refusals(): readonly [Refusal, ...Refusal[]] | undefined {
    const known = this.#skipped.filter((refusal) => refusal !== undefined);
    const [first, ...others] = known;
    return first && known.length === this.#skipped.length ? [first, ...others] : undefined;
  }

  /** Counts a request that begins, or waits in its lane. */
  begin(): void {
    this.#pending++;
  }

  /** Discounts a request that was removed from its lane because its delivery is settled. */
  withdraw(): void {
    this.#pending--;
  }

  /** Leaves a URL out of this attempt. @param refusal from its lane, if that is the cause */
  skip(refusal?: Refusal): void {
    this.#pending--;
    this.#skipped.push(refusal);
  }

  /** Records the end of a request to one URL. @param now by the clock of `startedAt` */
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

  /** Adds a result without settling the attempt (a URL that can never be sent to). */
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
