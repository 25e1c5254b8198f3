import { type BatchProducer, type OutRecord } from '../../shared/kafka/port';
import { type Agenda } from './virtual-clock';
import { type ProcessTime } from './process-time';

/** Acknowledges after a fixed time, like a healthy cluster. */

/**
 * From `append` to the acknowledgement: the latency of Kafka with acks=all on machines near each
 * other.
 */
const ACKNOWLEDGED_MS = 5;
/** Bytes of each record beyond its value: headers and framing. */
const RECORD_BYTES = 400;

/** Stores records. @returns when, by the brokers' clock, ms since 1970 */
export type Store = (records: OutRecord[]) => number;

export class SimulatedAppender implements BatchProducer {
  pendingBytes = 0;
  readonly oldestPendingAt = undefined;
  #batch: { records: OutRecord[]; acknowledge: (() => void)[] } | undefined;

  constructor(
    private readonly time: ProcessTime,
    private readonly agenda: Agenda,
    private readonly store: Store,
  ) {}

  send(records: OutRecord[]): Promise<void> {
    const bytes = records.reduce((sum, { value }) => sum + (value?.length ?? 0) + RECORD_BYTES, 0);
    this.pendingBytes += bytes;
    const batch = (this.#batch ??= this.#newBatch());
    batch.records.push(...records);
    return new Promise((resolve) => {
      batch.acknowledge.push(() => {
        this.pendingBytes -= bytes;
        resolve();
      });
    });
  }

  /** Returns the same, but reports each append. */
  hearing(appended: (records: OutRecord[]) => void): BatchProducer {
    const pendingBytes = () => this.pendingBytes;
    return {
      send: (records) => {
        appended(records);
        return this.send(records);
      },
      get pendingBytes() {
        return pendingBytes();
      },
      oldestPendingAt: undefined,
      close: () => Promise.resolve(),
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** All records appended in one millisecond form one batch. */
  #newBatch() {
    const batch = { records: [] as OutRecord[], acknowledge: [] as (() => void)[] };
    const { now } = this.agenda;
    const mark = this.time.brokerClock.mark();
    this.agenda.at(now + 1, () => {
      if (this.#batch === batch) this.#batch = undefined;
    });
    // It is stored even if this process is frozen; only a running process receives the
    // acknowledgement.
    let storedAt = 0;
    this.agenda.at(now + ACKNOWLEDGED_MS, () => (storedAt = this.store(batch.records)));
    this.time.at(now + ACKNOWLEDGED_MS, () => {
      this.time.brokerClock.wrote(storedAt, mark);
      for (const acknowledge of batch.acknowledge) acknowledge();
    });
    return batch;
  }
}
