import { type BatchProducer } from '../../shared/kafka/port';
import { LIMITED } from '../../shared/kafka/topics';
import { limitedRecord } from '../../shared/model/rejected-calls';
import { messageOf } from '../../shared/runtime/errors';
import { type Log } from '../../shared/telemetry/log';
import { metrics } from '../../shared/telemetry/metrics';

/**
 * Counts what has no record of its own: the requests answered with 429, by source, and the rejected
 * calls beyond one for each record. Writes the counts to `messages.limited` for control: at most
 * one record a second.
 */

const WRITE_EVERY_MS = 1_000;

const limited = metrics.counter({
  name: 'waypost.requests.limited',
  help:
    'Requests answered with 429: the source is over its limit, or the address had too many ' +
    'refusals.',
  labels: { reason: '`source`, `address`' },
});
const bySource = limited.of({ reason: 'source' });
const byAddress = limited.of({ reason: 'address' });

export class UnrecordedCounts {
  #requests = new Map<string, number>();
  #rejected = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly producer: Pick<BatchProducer, 'send'>,
    private readonly log: Log,
  ) {}

  /** Counts a request. @param source undefined if the address was limited */
  addLimited(source: string | undefined): void {
    if (source === undefined) {
      byAddress.value++;
      return;
    }
    bySource.value++;
    this.#requests.set(source, (this.#requests.get(source) ?? 0) + 1);
    this.#writeSoon();
  }

  /** @param calls rejected calls, beyond one for each record that is stored */
  addRejected(calls: number): void {
    if (calls === 0) return;
    this.#rejected += calls;
    this.#writeSoon();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_EVERY_MS).unref();
  }

  /** Writes the remaining counts. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    await this.#write();
  }

  /** Drops counts that Kafka does not store: they are for charts, and nothing may wait for them. */
  async #write(): Promise<void> {
    const counts = {
      sources: this.#requests,
      rejected: this.#rejected,
    };
    this.#requests = new Map();
    this.#rejected = 0;
    this.#timer = undefined;
    try {
      await this.producer.send([{ topic: LIMITED, key: null, ...limitedRecord(counts) }]);
    } catch (error) {
      this.log.debug({ reason: messageOf(error) }, 'counts.not_written');
    }
  }
}
