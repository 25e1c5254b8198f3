import { createStepDedup } from '../../shared/model/step-dedup';
import { type Appender, type OpenRecord, type Verdict } from '../../shared/kafka/port';
import { DUE, tierDelayMs } from '../../shared/kafka/topics';
import { dueOf } from './decide';
import { watchReturn } from './telemetry';

/**
 * Gives records of the tiers back to delivery when they are due. It keeps nothing: a partition whose head is not due is
 * paused until then, and what waits, waits in Kafka.
 *
 * Invariant: a record is done only when Kafka has acknowledged its copy in `webhooks.due`.
 */

/** Copies not yet acknowledged: beyond it partitions wait. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

export class Returner {
  readonly #forks = createStepDedup();
  #forksDropped = 0;
  #refused = false;

  constructor(
    private readonly options: {
      appender: Appender;
      /** by the brokers' clock, ms since 1970 */
      now: () => number;
      onRoom: () => void;
    },
  ) {}

  /** Second records of a delivery's step that were dropped. */
  get forksDropped(): number {
    return this.#forksDropped;
  }

  onRecord(record: OpenRecord): Verdict {
    const { appender, now, onRoom } = this.options;
    const due = dueOf(record.timestampMs, tierDelayMs(record.topic) ?? 0, now());
    if (due !== 'now') return due;
    if (appender.pendingBytes >= MAX_PENDING_BYTES) {
      this.#refused = true;
      return 'full';
    }
    if (this.#forks.isDuplicateStep(record, now())) {
      this.#forksDropped++;
      record.done();
      return 'taken';
    }
    const value = Buffer.from(record.value ?? '');
    const headers = record.headers as Record<string, string>;
    const returned = watchReturn(record, now());
    appender.append([{ topic: DUE, key: record.key?.toString() ?? null, value, headers }]).then(
      () => {
        record.done();
        returned();
        if (this.#refused && appender.pendingBytes < MAX_PENDING_BYTES / 2) {
          this.#refused = false;
          onRoom();
        }
      },
      // A stopping process refuses, or Kafka refuses the record for good (the appender logs it): it stays open in its tier.
      () => undefined,
    );
    return 'taken';
  }
}
