import { partitionOf } from '../protocol/partitioner';
import { type OutRecord } from '../port';
import { Backoff } from './backoff';
import { topicError, UNKNOWN_PARTITION } from './errors';
import { PartitionQueue, type QueuedRecord } from './partition-queue';
import { NO_NODE, type TopicMetadata } from './request-sender';

/** Holds the queues of a topic's partitions, and the records whose partition is not known yet. */
export class TopicQueues {
  readonly queues: PartitionQueue[] = [];
  /** failing while the topic, or a partition that a record names, is unknown */
  readonly backoff = new Backoff();
  #unplaced: QueuedRecord[] = [];
  /** round-robin counter for records without a key */
  #turn = 0;

  constructor(readonly name: string) {}

  get unplaced(): number {
    return this.#unplaced.length;
  }

  /** Finds the partition of a record; undefined if it is not known. */
  queueOf({ key, partition }: OutRecord): PartitionQueue | undefined {
    if (partition !== undefined) return this.queues[partition];
    const count = this.queues.length;
    if (count === 0) return undefined;
    return this.queues[key === null ? this.#turn++ % count : partitionOf(key, count)];
  }

  /**
   * Finds the next partition that accepts records; undefined if none does.
   * @param takes returns whether a broker accepts records, as far as is known
   */
  neighbourOf({ partition }: PartitionQueue, takes: (leader: number) => boolean): PartitionQueue | undefined {
    const count = this.queues.length;
    for (let step = 1; step < count; step++) {
      const queue = this.queues[(partition + step) % count];
      if (queue && queue.backoff.error === undefined && takes(queue.leader)) return queue;
    }
    return undefined;
  }

  hold(item: QueuedRecord): void {
    this.#unplaced.push(item);
  }

  /** Removes and returns the records without a partition that fulfil a condition. */
  withdraw(wanted: (item: QueuedRecord) => boolean): QueuedRecord[] {
    const withdrawn = this.#unplaced.filter(wanted);
    if (withdrawn.length > 0) this.#unplaced = this.#unplaced.filter((item) => !wanted(item));
    return withdrawn;
  }

  /** Applies metadata. @param metadata undefined if the answer does not name the topic */
  learned(metadata: TopicMetadata | undefined, startedAt: number, now: number): void {
    if (metadata === undefined) return;
    if (metadata.errorCode !== 0) {
      this.backoff.failed(topicError(metadata.errorCode), startedAt, now);
      return;
    }
    for (const [partition, leader] of metadata.leaders.entries()) {
      const queue = (this.queues[partition] ??= new PartitionQueue(this.name, partition));
      if (queue.leader === NO_NODE) queue.backoff.retry();
      queue.leader = leader;
    }
    const isMisplaced = this.#unplaced.some(({ record }) => !this.#has(record));
    if (isMisplaced) this.backoff.failed(UNKNOWN_PARTITION, startedAt, now);
    else this.backoff.succeeded();
  }

  #has({ partition }: OutRecord): boolean {
    return partition === undefined ? this.queues.length > 0 : this.queues[partition] !== undefined;
  }
}
