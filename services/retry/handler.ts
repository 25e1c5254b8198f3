import { createStepDedup } from '../../shared/model/step-dedup';
import { type BatchProducer, type OpenRecord, type DispatchResult } from '../../shared/kafka/port';
import { DUE, tierDelayMs } from '../../shared/kafka/topics';
import { whenDue } from './when-due';
import { watchReturn } from './telemetry';

/**
 * Gives records of the tiers back to delivery when they are due. It keeps nothing: a partition whose head is not due is
 * paused until then, and what waits, waits in Kafka.
 *
 * Invariant: a record is done only when Kafka has acknowledged its copy in `webhooks.due`.
 */

/** Copies not yet acknowledged: beyond it partitions wait. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

export class Requeuer {
  readonly #steps = createStepDedup();
  #duplicatesDropped = 0;
  #refused = false;

  constructor(
    private readonly options: {
      producer: BatchProducer;
      /** by the brokers' clock, ms since 1970 */
      now: () => number;
      onRoom: () => void;
    },
  ) {}

  /** Second records of a delivery's step that were dropped. */
  get duplicatesDropped(): number {
    return this.#duplicatesDropped;
  }

  onRecord(record: OpenRecord): DispatchResult {
    const { producer, now, onRoom } = this.options;
    const due = whenDue(record.timestampMs, tierDelayMs(record.topic) ?? 0, now());
    if (due !== 'now') return due;
    if (producer.pendingBytes >= MAX_PENDING_BYTES) {
      this.#refused = true;
      return 'busy';
    }
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
        if (this.#refused && producer.pendingBytes < MAX_PENDING_BYTES / 2) {
          this.#refused = false;
          onRoom();
        }
      },
      // A stopping process refuses, or Kafka refuses the record for good (the appender logs it): it stays open in its tier.
      () => undefined,
    );
    return 'accepted';
  }
}
