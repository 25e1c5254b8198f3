import { FORGET_MS } from './blocked-partitions';
import { isSettled, type PartitionQueue, type QueuedRecord } from './partition-queue';
import { type Blocked } from './request';
import { NO_NODE } from './request-sender';
import { TopicQueues } from './topic-queues';

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
   * Finds a partition for the records of a failing one. A broker that gives no answer fails for all of its partitions,
   * also for those without records since.
   */
  neighbourOf(queue: PartitionQueue, now: number): PartitionQueue | undefined {
    const takes = (node: number) => node !== NO_NODE && now - (this.#away.get(node) ?? -Infinity) > FORGET_MS;
    return this.of(queue.topic).neighbourOf(queue, takes);
  }

  /** Notes a broker that gave no answer. */
  brokerFailed(node: number, now: number): void {
    this.#away.set(node, now);
  }

  /** Notes a broker that acknowledges records. @returns its failing partitions, if it had given no answer before */
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
