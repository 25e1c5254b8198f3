import { type OpenRecord, type DispatchResult } from '../../shared/kafka/port';
import { EPOCH_MS, type ProcessTime } from './process-time';
import { type PartitionLog } from './log';

/** Reads the partitions that one process owns, shortly after each append. */

/** From a record's append to its handler: one fetch of a waiting consumer. */
const FETCHED_MS = 2;

export class Reader {
  #coming = false;
  readonly #toRead = new Set<PartitionLog>();
  readonly #returns = new Set<PartitionLog>();
  readonly #owned = new Set<PartitionLog>();

  constructor(
    private readonly time: ProcessTime,
    private readonly onRecord: (record: OpenRecord) => DispatchResult,
  ) {}

  /** Begins to read partitions. */
  take(logs: readonly PartitionLog[]): void {
    for (const log of logs) {
      this.#owned.add(log);
      log.onAppend = () => this.wake(log);
      if (log.size > 0) this.wake(log);
    }
  }

  /** Reads no more of partitions, which the process gives up. */
  leave(logs: readonly PartitionLog[]): void {
    for (const log of logs) {
      this.#owned.delete(log);
      log.leaving = true;
    }
  }

  wake(partition: PartitionLog): void {
    this.#toRead.add(partition);
    if (this.#coming) return;
    this.#coming = true;
    this.time.at(this.time.steadyMs() + FETCHED_MS, () => {
      this.#coming = false;
      const partitions = [...this.#toRead];
      this.#toRead.clear();
      for (const each of partitions) this.#read(each);
    });
  }

  /** There is room again. */
  resume(): void {
    for (const partition of this.#owned) if (partition.resume()) this.wake(partition);
  }

  #read(partition: PartitionLog): void {
    if (!this.#owned.has(partition)) return;
    const againAt = partition.offer((record) => {
      this.time.brokerClock.read(record.timestampMs);
      return this.onRecord(record);
    }, EPOCH_MS + this.time.steadyMs());
    if (againAt === undefined || this.#returns.has(partition)) return;
    this.#returns.add(partition);
    this.time.at(Math.ceil(againAt - EPOCH_MS), () => {
      this.#returns.delete(partition);
      this.#read(partition);
    });
  }
}
