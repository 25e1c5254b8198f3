import { join } from 'node:path';
import {
  type OpenRecord,
  type Restart,
  type RebalanceListener,
  type DispatchResult,
} from '../../../shared/kafka/port';
import { type Queued } from './event-queue';
import { PartitionProcessor, type PartitionProcessorOptions } from './partition-processor';

/** The partitions of profiles that this process owns. Each has exactly one processor. */
export class PartitionProcessors implements RebalanceListener {
  readonly #processors = new Map<number, PartitionProcessor>();
  /** processors that still write their queues, by partition */
  readonly #closing = new Map<number, { processor: PartitionProcessor; closed: Promise<void> }>();
  /**
   * events left after a lost session, for the next processor of the partition if this process owns
   * it again
   */
  readonly #unwritten = new Map<number, readonly Queued[]>();
  #owned: ReadonlySet<number> = new Set();

  /** @param options.path folder of all stores */
  constructor(
    private readonly options: Omit<PartitionProcessorOptions, 'partition' | 'inherited'>,
  ) {}

  onAssigned(partitions: ReadonlySet<number>): void {
    this.#owned = partitions;
    for (const partition of this.#processors.keys()) {
      if (!partitions.has(partition)) this.#close(partition, false);
    }
    for (const partition of this.#unwritten.keys()) {
      if (!partitions.has(partition)) this.#unwritten.delete(partition);
    }
    for (const partition of partitions) this.#open(partition);
  }

  onLost(): void {
    this.#owned = new Set();
    for (const partition of this.#processors.keys()) this.#close(partition, true);
  }

  isDraining(partition: number): boolean {
    return this.#processors.has(partition) || this.#closing.has(partition);
  }

  onRecord(record: OpenRecord): DispatchResult {
    return this.#processors.get(record.partition)?.offer(record) ?? 'busy';
  }

  /** Call before the first record of a partition that begins anew. */
  onRestart(restart: Restart): void {
    const { partition } = restart;
    const processor = this.#processors.get(partition) ?? this.#closing.get(partition)?.processor;
    processor?.onRestart(restart);
  }

  *[Symbol.iterator](): Iterator<[number, PartitionProcessor]> {
    yield* this.#processors;
  }

  /** Resolves when all accepted events are written. */
  async stop(): Promise<void> {
    this.onAssigned(new Set());
    await Promise.all(Array.from(this.#closing.values(), ({ closed }) => closed));
  }

  #open(partition: number): void {
    if (this.#processors.has(partition) || this.#closing.has(partition)) return;
    const path = join(this.options.path, `p${partition}`);
    const inherited = this.#unwritten.get(partition) ?? [];
    this.#unwritten.delete(partition);
    this.#processors.set(
      partition,
      new PartitionProcessor({ ...this.options, partition, path, inherited }),
    );
    // Records were refused until the processor existed.
    this.options.onRoom();
  }

  #close(partition: number, lost: boolean): void {
    const processor = this.#processors.get(partition);
    if (!processor) return;
    this.#processors.delete(partition);
    processor.close({ lost });
    const closed = processor.closed.then(() => {
      this.#closing.delete(partition);
      if (lost) this.#unwritten.set(partition, processor.unwritten);
      // The partition was assigned again before it was released.
      if (this.#owned.has(partition)) this.#open(partition);
    });
    this.#closing.set(partition, { processor, closed });
  }
}
