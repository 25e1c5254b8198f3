import { type Message } from './calls.js';
import { type Queued } from './message.js';
import { type Failure, type Options } from './options.js';
import { type Platform } from './platform.js';
import { Rests } from './rest.js';
import { backoffMs } from './retry.js';
import { createSender, type Outcome, type Sender } from './send.js';

/**
 * Sends batches: retries each until the server accepts it or the client gives it up, and reports
 * the outcome.
 */

export interface CourierOptions extends Pick<Options, 'onDelivered' | 'onFailed'> {
  endpoint: string;
  writeKey: string;
  gzip: boolean;
  retryForMs: number;
  /** default `backoffMs` with a random half */
  backoffMs?: (failed: number) => number;
}

const CLOSED: Failure = {
  code: 'closed',
  message: 'the client was closed before it was delivered',
};

export class Courier {
  readonly #sender: Sender;
  readonly #rests = new Rests();
  readonly #backoffMs: (failed: number) => number;
  /** ms since 1970: the server asked for no request before then, which holds for every batch */
  #notBefore = 0;

  constructor(
    private readonly options: CourierOptions,
    private readonly platform: Platform,
  ) {
    this.#sender = createSender(options, platform);
    this.#backoffMs = options.backoffMs ?? ((failed) => backoffMs(failed, Math.random()));
  }

  /** Resolves when the batch was accepted or given up. */
  async deliver(batch: readonly Queued[]): Promise<void> {
    const end = await this.#end(batch);
    if (end.kind === 'taken') this.#taken(batch, end.rejected);
    else this.fail(batch, this.#rests.ended() ? CLOSED : end.failure);
  }

  /** Sends until a final outcome. */
  async #end(batch: readonly Queued[]): Promise<Outcome> {
    const began = Date.now();
    let outcome: Outcome = { kind: 'never', failure: CLOSED };
    for (let tries = 1; ; tries++) {
      const silentMs = this.#notBefore - Date.now();
      if (silentMs > 0) await this.#rests.pause(silentMs);
      if (this.#rests.ended()) return outcome;

      outcome = await this.#sender.send(batch);
      if (outcome.kind !== 'later' || this.#rests.ended()) return outcome;
      const { waitMs, failure } = outcome;
      const restMs = waitMs > 0 ? waitMs : this.#backoffMs(tries);
      if (Date.now() - began + restMs > this.options.retryForMs) return outcome;
      this.platform.debug?.(
        `${batch.length} calls wait ${restMs} ms for try ${tries + 1}: ${failure.message}`,
      );
      if (waitMs > 0) this.#notBefore = Math.max(this.#notBefore, Date.now() + waitMs);
      else await this.#rests.rest(restMs);
    }
  }

  /**
   * Passes a batch to the browser, which sends it after the page has closed; false if it cannot.
   */
  beacon(batch: readonly Queued[]): boolean {
    if (this.platform.beacon?.(this.#sender.url, this.#sender.body(batch)) !== true) return false;
    this.#taken(batch, new Map());
    return true;
  }

  /** Retries all waiting batches now. */
  hurry(): void {
    this.#rests.hurry();
  }

  /** Gives up every undelivered batch. */
  end(): void {
    this.#rests.end();
    this.#sender.abort();
  }

  fail(batch: readonly Queued[], failure: Failure): void {
    if (batch.length === 0) return;
    if (this.options.onFailed) this.#tell(this.options.onFailed, batch, failure);
    else {
      this.platform.warn(
        `gave up ${batch.length} ${batch.length === 1 ? 'call' : 'calls'}: ${failure.message}`,
      );
    }
  }

  #taken(batch: readonly Queued[], rejected: ReadonlyMap<number, Failure>): void {
    this.platform.debug?.(
      `${batch.length - rejected.size} calls delivered, ${rejected.size} rejected`,
    );
    for (const [i, failure] of rejected) this.fail(batch.slice(i, i + 1), failure);
    const delivered = rejected.size === 0 ? batch : batch.filter((_, i) => !rejected.has(i));
    const { onDelivered } = this.options;
    if (onDelivered && delivered.length > 0) this.#tell(onDelivered, delivered);
  }

  /** An exception of a listener must not cost the batch. */
  #tell<More extends unknown[]>(
    listener: (messages: Message[], ...more: More) => void,
    batch: readonly Queued[],
    ...more: More
  ): void {
    try {
      listener(
        batch.map(({ json }) => JSON.parse(json) as Message),
        ...more,
      );
    } catch (error) {
      this.platform.warn(`a listener threw: ${String(error)}`);
    }
  }
}
