import { messageOf } from '../../shared/service/errors';
import { limitedRecord } from '../../shared/model/limited-requests';
import { type BatchProducer } from '../../shared/kafka/port';
import { LIMITED } from '../../shared/kafka/topics';
import { metrics } from '../../shared/telemetry/metrics';
import { type Log } from '../../shared/telemetry/log';

/**
 * Counts the requests answered with 429, by source, and writes the counts to `messages.limited` for control: at most one
 * record a second.
 */
const WRITE_EVERY_MS = 1_000;

const limited = metrics.counter({
  name: 'waypost.requests.limited',
  help: 'Requests answered with 429: the source is over its limit, or the address had too many refusals.',
  labels: { reason: '`source`, `address`' },
});
const bySource = limited.of({ reason: 'source' });
const byAddress = limited.of({ reason: 'address' });

export class LimitedCounts {
  #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly producer: Pick<BatchProducer, 'send'>,
    private readonly log: Log,
  ) {}

  /** @param source undefined if the address was limited */
  add(source: string | undefined): void {
    if (source === undefined) {
      byAddress.value++;
      return;
    }
    bySource.value++;
    this.#counts.set(source, (this.#counts.get(source) ?? 0) + 1);
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
    const counts = this.#counts;
    this.#counts = new Map();
    this.#timer = undefined;
    try {
      await this.producer.send([{ topic: LIMITED, key: null, ...limitedRecord(new Date(), counts) }]);
    } catch (error) {
      this.log.debug({ reason: messageOf(error) }, 'limited.not_written');
    }
  }
}
