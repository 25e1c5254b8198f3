import { type OpenRecord, type DispatchResult } from '../../shared/kafka/port';
import { EPOCH_MS, type ProcessTime } from './process-time';
import { type PartitionLog } from './log';

/** Reads the partitions of one process shortly after each append. */

/** From a record's append to its handler: one fetch of a waiting consumer. */
const FETCHED_MS = 2;

export class Reader {
  #coming = false;
  readonly #toRead = new Set<PartitionLog>();
  readonly #returns = new Set<PartitionLog>();

  constructor(
    private readonly time: ProcessTime,
    private readonly partitions: readonly PartitionLog[],
    private readonly onRecord: (record: OpenRecord) => DispatchResult,
  ) {}

  /** A record was appended to it. */
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
    for (const partition of this.partitions) if (partition.resume()) this.wake(partition);
  }

  #read(partition: PartitionLog): void {
    const againAt = partition.read(this.onRecord, this.time.wallMs());
    if (againAt === undefined || this.#returns.has(partition)) return;
    this.#returns.add(partition);
    this.time.at(Math.ceil(againAt - EPOCH_MS), () => {
      this.#returns.delete(partition);
      this.#read(partition);
    });
  }
}
