import { type Admin, type Consumer } from 'kafkajs';
import { AppError, messageOf } from '../errors';
import { fetchedRecords } from './codec/install';
import { Fetches } from './fetches';
import { LastingConsumer } from './lasting';
import { whileLeadersAreFound } from './offsets';
import { type Log } from '../telemetry/log';
import { Partition, TakenRecord } from './partition';
import { type InRecord, type Tail, type TailOptions } from './port';

/**
 * Reads a whole topic, or its tail, for this process alone. kafkajs cannot read without a group, so each reader has a
 * throw-away one of its own, which is deleted at the end (the broker drops those of killed processes by itself).
 *
 * "Caught up" is a matter of the position reached, not of a record seen: the last records may have been deleted or
 * compacted away. A fetch that brought nothing, begun after the question was asked, is the end as well, of the partitions
 * that its broker leads.
 */
export class KafkaTail implements Tail {
  /** the next offset to be read, by partition */
  readonly #positions = new Map<number, number>();
  readonly #waiting = new Set<() => void>();
  readonly #fetches = new Fetches();
  /** node ids by host:port */
  readonly #nodes = new Map<string, number>();
  #positioned: () => void = () => undefined;

  readonly #life: LastingConsumer;

  constructor(
    make: () => Consumer,
    private readonly admin: Admin,
    private readonly options: TailOptions & { prefix: string; group: string; log: Log },
  ) {
    const onCrash = () => undefined;
    this.#life = new LastingConsumer({ make, live: (consumer) => this.#live(consumer), onCrash, log: options.log });
  }

  /** Resolves when reading has begun: what is appended from then on will be seen. */
  async start(): Promise<void> {
    await Promise.all([this.#findStart(this.options.prefix + this.options.topic), this.#findNodes()]);
    const positioned = new Promise<void>((resolve) => (this.#positioned = resolve));
    await this.#life.start();
    await positioned;
  }

  async #live(consumer: Consumer): Promise<void> {
    const { events } = consumer;
    const topic = this.options.prefix + this.options.topic;
    consumer.on(events.FETCH_START, ({ payload }) => {
      this.#fetches.begins(payload.nodeId);
      this.#wake();
    });
    consumer.on(events.REQUEST, ({ payload }) => {
      if (payload.apiName !== 'Fetch') return;
      const nodeId = this.#nodes.get(payload.broker);
      if (nodeId !== undefined) this.#fetches.answered(nodeId);
      this.#positioned();
    });
    // Also after a rejoin: kafkajs would begin again at one of the ends.
    consumer.on(events.GROUP_JOIN, () => {
      this.#fetches.interrupted();
      for (const [partition, offset] of this.#positions) consumer.seek({ topic, partition, offset: String(offset) });
    });
    // Where it begins is told by `seek`: this is for what was deleted before it was read, and for partitions to come.
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: true,
      eachBatch: ({ batch }) => {
        this.#fetches.brought();
        const partition = new Partition(this.options.topic, batch.partition, 0);
        for (const message of fetchedRecords(batch)) {
          const record = new TakenRecord(partition, message);
          // What was read in an earlier life is skipped.
          if (record.offset >= (this.#positions.get(batch.partition) ?? 0)) this.#give(record);
        }
        const next = Number(batch.lastOffset()) + 1;
        this.#positions.set(batch.partition, Math.max(next, this.#positions.get(batch.partition) ?? 0));
        this.#wake();
        return Promise.resolve();
      },
    });
  }

  #give(record: InRecord): void {
    try {
      this.options.onRecord(record);
    } catch (error) {
      // kafkajs would offer it again without end.
      this.options.onFatal(error);
    }
  }

  /** Where to begin in each partition: kafkajs would look it up, and keep it to itself. */
  async #findStart(topic: string): Promise<void> {
    const { from } = this.options;
    const ends = await whileLeadersAreFound(() => this.admin.fetchTopicOffsets(topic));
    if (typeof from === 'string') {
      for (const { partition, low, high } of ends)
        this.#positions.set(partition, Number(from === 'beginning' ? low : high));
      return;
    }
    const since = await whileLeadersAreFound(() => this.admin.fetchTopicOffsetsByTimestamp(topic, from.sinceMs));
    const each = Math.ceil(from.atMost / ends.length);
    for (const { partition, low, high } of ends) {
      const found = Number(since.find((entry) => entry.partition === partition)?.offset ?? -1);
      const first = found < 0 ? Number(high) : found;
      this.#positions.set(partition, Math.max(Number(low), first, Number(high) - each));
    }
  }

  async #findNodes(): Promise<void> {
    const { brokers } = await this.admin.describeCluster();
    for (const { host, port, nodeId } of brokers) this.#nodes.set(`${host}:${String(port)}`, nodeId);
  }

  /** Who leads each partition. */
  async #findLeaders(topic: string): Promise<Map<number, number>> {
    const [{ topics }] = await Promise.all([this.admin.fetchTopicMetadata({ topics: [topic] }), this.#findNodes()]);
    return new Map((topics[0]?.partitions ?? []).map(({ partitionId, leader }) => [partitionId, leader]));
  }

  async caughtUp(deadlineMs: number): Promise<void> {
    const until = Date.now() + deadlineMs;
    const topic = this.options.prefix + this.options.topic;
    const asked = this.#fetches.moment;
    const ask = () => Promise.all([this.admin.fetchTopicOffsets(topic), this.#findLeaders(topic)]);
    const look = whileLeadersAreFound(ask);
    const [ends, leaders] = await withDeadline(look, deadlineMs);
    const reached = () =>
      ends.every(({ partition, low, high }) => {
        const position = this.#positions.get(partition) ?? -1;
        if (Number(high) <= Number(low) || position >= Number(high)) return true;
        return position >= Number(low) && this.#fetches.emptySince(asked, leaders.get(partition) ?? -1);
      });
    while (!reached()) {
      const left = until - Date.now();
      if (left <= 0) throw notInTime();
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, left);
        this.#waiting.add(wake);
      });
    }
  }

  async stop(): Promise<void> {
    await this.#life.stop();
    try {
      await this.admin.deleteGroups([this.options.group]);
    } catch (error) {
      this.options.log.debug({ reason: messageOf(error), group: this.options.group }, 'group.not_deleted');
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}

function notInTime(): AppError {
  return new AppError('kafka_unavailable', 'Kafka did not answer in time', true);
}

async function withDeadline<T>(promise: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(notInTime()), deadlineMs)));
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
