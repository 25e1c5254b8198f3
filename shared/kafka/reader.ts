import { type Admin } from 'kafkajs';
import { sleep } from '../runtime/async';
import { AppError, messageOf } from '../runtime/errors';
import { type Cluster, type FetchedPartition, isOutOfRange } from './client/cluster';
import { ConsumedRecord, Partition } from './consumer/partition';
import { whileLeadersAreFound } from './client/leaderless';
import { KafkaError } from './protocol/error-codes';
import { type Fetched, type Range, type ReadAt } from './port';
import { COMPACTED } from './topics';

/**
 * Reads records from an offset on, without a consumer group.
 *
 * Invariant: the result is what the partition holds. An empty response proves nothing by itself: a
 * broker that throttles a client names no partition, and a new leader may not know the end of its
 * log yet. Such a request is repeated.
 *
 * Reads of several partitions of a topic that are called at the same time share a request to each
 * broker, but not with reads of another topic, or with another wait.
 */

/** The second try finds a leader that moved; a starting broker needs a few more. */
const TRIES = 4;
const PAUSE_MS = 250;
/**
 * Time for which a throttled read is repeated. kafkajs waits between the requests as the broker
 * demands.
 */
const THROTTLED_MS = 60_000;

/** Limits a response to several reads; one read may ask for more. */
const SHARED_BYTES = 1024 * 1024;

/** A read that waits for the next request to its broker. */
interface Asked extends ReadAt {
  answer: (partition: FetchedPartition | 'throttled') => void;
  fail: (error: unknown) => void;
}

export class DirectReader {
  /**
   * By the topic for which reads wait; '' for those that do not wait: a broker answers the requests
   * of a connection one after the other.
   */
  readonly #clusters = new Map<string, Promise<Cluster>>();
  #isClosed = false;
  /** by node id, topic and wait */
  readonly #asked = new Map<string, Asked[]>();

  constructor(
    private readonly connect: () => Promise<Cluster>,
    private readonly prefix: string,
  ) {}

  /** @throws AppError `kafka_unavailable` */
  async read(at: ReadAt): Promise<Fetched> {
    const startedAt = performance.now();
    for (let tries = 1; ;) {
      try {
        const fetched = await this.#fetch(at);
        if (fetched) return fetched;
        if (performance.now() - startedAt > THROTTLED_MS) {
          throw new Error('the broker throttles this client');
        }
      } catch (error) {
        if (isOutOfRange(error)) {
          return { records: [], next: at.offset, end: at.offset, gone: true };
        }
        if (tries++ === TRIES || this.#isClosed) throw unavailable(error);
        await sleep(PAUSE_MS * tries);
        const name = clusterOf(at);
        const connected = this.#clusters.get(name);
        const cluster = await connected?.catch(() => undefined);
        if (!cluster && this.#clusters.get(name) === connected) this.#clusters.delete(name);
        await cluster?.refreshMetadata().catch(() => undefined);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connected of this.#clusters.values()) {
      const cluster = await connected.catch(() => undefined);
      await cluster?.disconnect();
    }
  }

  /** @returns undefined if the broker throttles this client */
  async #fetch(at: ReadAt): Promise<Fetched | undefined> {
    const { topic, partition, offset, until = 0 } = at;
    const name = this.prefix + topic;
    const cluster = await this.#connected(at);
    await cluster.addTargetTopic(name);
    const [nodeId] = Object.keys(cluster.findLeaderForPartitions(name, [partition]));
    if (nodeId === undefined) throw new Error(`partition ${partition} of ${topic} has no leader`);
    const fetched = await this.#ask(nodeId, at);
    if (fetched === 'throttled') return undefined;
    const next = nextOffset(topic, fetched, offset);
    const end = Number(fetched.highWatermark);
    if (next === offset && offset < Math.max(until, end)) {
      throw new Error(`the leader of ${topic} does not return offset ${offset} yet`);
    }
    const owner = new Partition(topic, partition, offset);
    const records = fetched.messages
      .map((message) => new ConsumedRecord(owner, message))
      // A broker returns whole batches, which may start before the offset.
      .filter((record) => record.offset >= offset);
    return { records, next, end, gone: false };
  }

  #connected(at: ReadAt): Promise<Cluster> {
    if (this.#isClosed) throw new Error('the reader is closed');
    const name = clusterOf(at);
    const cluster = this.#clusters.get(name) ?? this.connect();
    this.#clusters.set(name, cluster);
    return cluster;
  }

  #ask(nodeId: string, at: ReadAt): Promise<FetchedPartition | 'throttled'> {
    return new Promise((answer, fail) => this.#queue(nodeId, [{ ...at, answer, fail }]));
  }

  /** Sends reads of one topic with the next request to a broker. */
  #queue(nodeId: string, reads: readonly Asked[]): void {
    const [first] = reads;
    if (!first) return;
    const key = `${nodeId} ${first.topic} ${String(first.waitMs)}`;
    const waiting = this.#asked.get(key) ?? [];
    if (waiting.length === 0) setImmediate(() => void this.#send(nodeId, key));
    this.#asked.set(key, [...waiting, ...reads]);
  }

  async #send(nodeId: string, key: string): Promise<void> {
    const all = this.#asked.get(key) ?? [];
    this.#asked.delete(key);
    const first = new Map<number, Asked>();
    for (const each of all) if (!first.has(each.partition)) first.set(each.partition, each);
    const left = new Set(await this.#request(nodeId, [...first.values()]));
    // Also second reads of the same partition: a request names each once.
    this.#queue(
      nodeId,
      all.filter((each) => left.has(each) || first.get(each.partition) !== each),
    );
  }

  /**
   * Answers reads with one request. An error that Kafka reports for one partition fails a whole
   * request, so each of several is then read alone. Any other error is one of the broker, and fails
   * them all.
   * @returns the reads that the others left no room for in the response
   */
  async #request(nodeId: string, asked: readonly Asked[]): Promise<readonly Asked[]> {
    try {
      return await this.#fetchAll(nodeId, asked);
    } catch (error) {
      const ofPartition = asked.length > 1 && error instanceof KafkaError;
      for (const each of asked) {
        if (ofPartition) await this.#request(nodeId, [each]);
        else each.fail(error);
      }
      return [];
    }
  }

  async #fetchAll(nodeId: string, asked: readonly Asked[]): Promise<Asked[]> {
    const [first] = asked;
    if (!first) return [];
    const cluster = await this.#connected(first);
    const broker = await cluster.findBroker({ nodeId });
    const { waitMs = 0 } = first;
    const name = this.prefix + first.topic;
    const sizes = asked.map(({ maxBytes }) => maxBytes);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const { responses, clientSideThrottleTime } = await broker.fetch({
      maxWaitTime: waitMs,
      minBytes: waitMs > 0 ? 1 : 0,
      maxBytes: Math.max(...sizes, Math.min(all, SHARED_BYTES)),
      topics: [
        {
          topic: name,
          partitions: asked.map(({ partition, offset, maxBytes }) => ({
            partition,
            fetchOffset: String(offset),
            maxBytes,
          })),
        },
      ],
    });
    const found = responses
      .filter(({ topicName }) => topicName === name)
      .flatMap(({ partitions }) => partitions);
    const isFull = found.some(({ next }) => next !== undefined);
    const byNumber = new Map(found.map((each) => [each.partition, each]));
    return asked.filter(({ topic, partition, offset, answer, fail }) => {
      const fetched = byNumber.get(partition);
      if (
        fetched &&
        isFull &&
        fetched.next === undefined &&
        Number(fetched.highWatermark) > offset
      ) {
        return true;
      }
      if (fetched) answer(fetched);
      else if (clientSideThrottleTime > 0) answer('throttled');
      else fail(new Error(`the broker's answer lacks partition ${partition} of ${topic}`));
      return false;
    });
  }
}

function clusterOf({ topic, waitMs }: ReadAt): string {
  return waitMs === undefined ? '' : topic;
}

/**
 * Returns the next offset after a fetch of one partition alone. A broker returns at least one
 * batch, however large. In a compacted topic, no batch below the high watermark means that
 * compaction has left no records there. In other topics it proves nothing, and the offset stays.
 */
export function nextOffset(
  topic: string,
  { next, highWatermark }: Omit<FetchedPartition, 'partition'>,
  offset: number,
) {
  if (next === undefined && !COMPACTED.has(topic)) return offset;
  return Math.max(offset, next ?? Number(highWatermark));
}

/** Returns the committed offset of each partition, 0 without a commit. */
export async function readGroup(admin: Admin, groupId: string, topic: string): Promise<number[]> {
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  const offsets = [...(found?.partitions ?? [])].sort((a, b) => a.partition - b.partition);
  return offsets.map(({ offset }) => Math.max(0, Number(offset)));
}

/** Returns the partitions of a topic, as `Kafka.ranges` does. */
export async function readRanges(
  admin: Admin,
  topic: string,
  sinceMs: number | undefined,
): Promise<Range[]> {
  const [ends, since] = await whileLeadersAreFound(() =>
    Promise.all([
      admin.fetchTopicOffsets(topic),
      sinceMs === undefined ? [] : admin.fetchTopicOffsetsByTimestamp(topic, sinceMs),
    ]),
  );
  return ends.map(({ partition, low, high }) => {
    const found = Number(since.find((entry) => entry.partition === partition)?.offset ?? low);
    // Kafka returns no offset for a time after the last record.
    return {
      partition,
      low: found < 0 ? Number(high) : Math.max(found, Number(low)),
      high: Number(high),
    };
  });
}

/** Converts an error of kafkajs into the error that callers of the port expect. */
export function unavailable(cause: unknown): AppError {
  return new AppError('kafka_unavailable', `Kafka could not be read (${messageOf(cause)})`, true, {
    cause,
  });
}

/** Awaits a look-up. @throws AppError `kafka_unavailable` if it fails */
export async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw unavailable(error);
  }
}
