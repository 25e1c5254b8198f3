import { createStepDedup } from '../../shared/model/step-dedup';
import { type BatchProducer, type OpenRecord, type DispatchResult } from '../../shared/kafka/port';
import { DUE, tierDelayMs } from '../../shared/kafka/topics';
import { Backpressure } from '../../shared/service/backpressure';
import { whenDue } from './when-due';
import { watchReturn } from './telemetry';

/**
 * Returns records of the tiers to delivery when they are due. It holds nothing in memory: it pauses a partition until its
 * head is due, and the waiting records stay in Kafka.
 *
 * Invariant: a record is done only when Kafka has acknowledged its copy in `webhooks.due`.
 */

/** Limit of unacknowledged copies; at the limit, partitions wait. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

export class Requeuer {
  readonly #steps = createStepDedup();
  #duplicatesDropped = 0;
  readonly #room: Backpressure;

  constructor(
    private readonly options: {
      producer: BatchProducer;
      /** the brokers' clock, ms since 1970 */
      now: () => number;
      onRoom: () => void;
    },
  ) {
    this.#room = new Backpressure(() => options.producer.pendingBytes / MAX_PENDING_BYTES, options.onRoom);
  }

  /** Number of dropped records that repeated a step of a delivery. */
  get duplicatesDropped(): number {
    return this.#duplicatesDropped;
  }

  onRecord(record: OpenRecord): DispatchResult {
    const { producer, now } = this.options;
    const due = whenDue(record.timestampMs, tierDelayMs(record.topic) ?? 0, now());
    if (due !== 'now') return due;
    if (!this.#room.accepts()) return 'busy';
    if (this.#steps.isDuplicateStep(record, now())) {
      this.#duplicatesDropped++;
      record.done();
      return 'accepted';
    }
    const value = Buffer.from(record.value ?? '');
    const headers = record.headers as Record<string, string>;
    const returned = watchReturn(record, now());
    producer.send([{ topic: DUE, key: record.key?.toString() ?? null, value, headers }]).then(
      () => {
        record.done();
        returned();
        this.#room.resumeAtHalf();
      },
      // The stopping producer refuses, or Kafka refuses the record permanently (the producer logs it): it stays in its tier.
      () => undefined,
    );
    return 'accepted';
  }
}
