import { type PartitionQueue } from './partition-queue';
import { type Blocked } from './request';

/** Records of a blocked partition, up to this size, take no room from other partitions. */
const ALLOWED_BYTES = 1024 * 1024;
/** The same for all blocked partitions together, so that memory stays bounded while all of Kafka is unreachable. */
const ALLOWED_BYTES_IN_ALL = 16 * 1024 * 1024;

/** Time after the last attempt at which a failure of a partition or a broker is forgotten, ms. */
export const FORGET_MS = 30_000;

/** Tracks the blocked partitions, and the bytes that they may hold beside the limit. */
export class BlockedPartitions {
  readonly #queues = new Set<PartitionQueue>();

  get size(): number {
    return this.#queues.size;
  }

  add(queue: PartitionQueue): void {
    this.#queues.add(queue);
  }

  delete(queue: PartitionQueue): void {
    this.#queues.delete(queue);
  }

  get allowedBytes(): number {
    let allowed = 0;
    for (const { bytes } of this.#queues) allowed += Math.min(bytes, ALLOWED_BYTES);
    return Math.min(allowed, ALLOWED_BYTES_IN_ALL);
  }

  /** Lists them. A partition that has held no record for 30 s is omitted. */
  *list(now: number): Generator<Blocked> {
    for (const queue of this.#queues) {
      const { topic, partition, backoff } = queue;
      const isUnknown = queue.isEmpty && now - backoff.notBefore > FORGET_MS;
      if (backoff.error && !isUnknown) yield { topic, partition, error: backoff.error };
    }
  }
}
