import { partitionOf } from '../protocol/bytes';
import { type OutRecord } from '../port';
import { Backoff, topicError, UNKNOWN_PARTITION, type Blocked } from './errors';
import { isSettled, PartitionQueue, type QueuedRecord } from './partition-queue';
import { NO_NODE, type TopicMetadata } from '../protocol/metadata-request';

/** Records of a blocked partition, up to this size, take no room from other partitions. */
const ALLOWED_BYTES = 1024 * 1024;
/**
 * The same for all blocked partitions together, so that memory stays bounded while all of Kafka is
 * unreachable.
 */
const ALLOWED_BYTES_IN_ALL = 16 * 1024 * 1024;

/** Time after the last attempt at which a failure of a partition or a broker is forgotten, ms. */
const FORGET_MS = 30_000;

/** Holds the queues of a topic's partitions, and the records whose partition is not known yet. */
export class TopicQueues {
  readonly queues: PartitionQueue[] = [];
  /** failing while the topic, or a partition that a record names, is unknown */
  readonly backoff = new Backoff();
  #unplaced: QueuedRecord[] = [];
  /** queues of partitions that the topic no longer has, with records in flight */
  #removed: PartitionQueue[] = [];
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
  neighbourOf(
    { partition }: PartitionQueue,
    takes: (leader: number) => boolean,
  ): PartitionQueue | undefined {
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

  /**
   * Applies metadata.
   * @param metadata undefined if the answer does not name the topic
   * @returns the queues of partitions that the topic no longer has
   */
  learned(
    metadata: TopicMetadata | undefined,
    startedAt: number,
    now: number,
  ): readonly PartitionQueue[] {
    if (metadata === undefined) return [];
    if (metadata.errorCode !== 0) {
      this.backoff.failed(topicError(metadata.errorCode), startedAt, now);
      return [];
    }
    const removed = this.#remove(metadata.partitions.length);
    for (const [partition, { leader }] of metadata.partitions.entries()) {
      const queue = (this.queues[partition] ??= new PartitionQueue(this.name, partition));
      if (queue.leader === NO_NODE && leader !== NO_NODE) queue.backoff.retry();
      queue.leader = leader;
    }
    const isMisplaced = this.#unplaced.some(({ record }) => !this.#has(record));
    if (isMisplaced) this.backoff.failed(UNKNOWN_PARTITION, startedAt, now);
    else this.backoff.succeeded();
    return removed;
  }

  /**
   * Removes the queues behind a number of partitions: the topic was made again with fewer. Their
   * records are placed anew, and those in flight after their answer.
   */
  #remove(count: number): readonly PartitionQueue[] {
    const removed = [...this.#removed, ...this.queues.splice(count)];
    for (const queue of removed) {
      queue.leader = NO_NODE;
      for (const item of queue.withdraw(() => true)) this.hold(item);
    }
    this.#removed = removed.filter(({ isEmpty }) => !isEmpty);
    return removed;
  }

  #has({ partition }: OutRecord): boolean {
    return partition === undefined ? this.queues.length > 0 : this.queues[partition] !== undefined;
  }
}

/** Holds the queues of all topics, and the brokers that gave no answer. */
export class TopicTable {
  readonly #topics = new Map<string, TopicQueues>();
  /** brokers that gave no answer, with the time, until they acknowledge a record */
  readonly #away = new Map<number, number>();

  get names(): Iterable<string> {
    return this.#topics.keys();
  }

  all(): Iterable<TopicQueues> {
    return this.#topics.values();
  }

  of(name: string): TopicQueues {
    let topic = this.#topics.get(name);
    if (!topic) this.#topics.set(name, (topic = new TopicQueues(name)));
    return topic;
  }

  /** Lists blocked topics. */
  *blocked(): Generator<Blocked> {
    for (const { name, backoff } of this.#topics.values()) {
      if (backoff.blocked && backoff.error) yield { topic: name, error: backoff.error };
    }
  }

  /**
   * Finds a partition for the records of a failing one. A broker that gives no answer fails for all
   * of its partitions, also for those without records since.
   */
  neighbourOf(queue: PartitionQueue, now: number): PartitionQueue | undefined {
    const takes = (node: number) =>
      node !== NO_NODE && now - (this.#away.get(node) ?? -Infinity) > FORGET_MS;
    return this.of(queue.topic).neighbourOf(queue, takes);
  }

  /** Notes a broker that gave no answer. */
  brokerFailed(node: number, now: number): void {
    this.#away.set(node, now);
  }

  /**
   * Notes a broker that acknowledges records. @returns its failing partitions, if it had given no
   * answer before
   */
  brokerAnswered(node: number): PartitionQueue[] {
    if (!this.#away.delete(node)) return [];
    return [...this.#topics.values()].flatMap(({ queues }) =>
      queues.filter(({ leader, backoff }) => leader === node && backoff.error !== undefined),
    );
  }

  /** Removes and returns the records for which no caller waits any more. */
  withdrawSettled(): QueuedRecord[] {
    return [...this.#topics.values()].flatMap((topic) =>
      [topic, ...topic.queues].flatMap((queue) => queue.withdraw(isSettled)),
    );
  }
}

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
