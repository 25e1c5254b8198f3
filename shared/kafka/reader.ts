import { sleep } from '../runtime/async';
import { AppError, messageOf } from '../runtime/errors';
import { type FetchConnection, type LogBrokers } from './consumer/brokers';
import { Leaders } from './consumer/leaders';
import { ConsumedRecord, Partition } from './consumer/partition';
import { type Fetched, type Range, type ReadAt } from './port';
import { ERROR, KafkaError } from './protocol/error-codes';
import { type FetchAnswer, type FetchedPartition, NO_SESSION } from './protocol/fetch-request';
import { COMPACTED } from './topics';

/**
 * Reads records from an offset on, and looks up offsets, without a consumer group.
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
/** Time for which a throttled read is repeated. The connection waits as the broker demands. */
const THROTTLED_MS = 60_000;
/** Time for which the offsets of a topic are looked up. */
const OFFSETS_WITHIN_MS = 10_000;
const OFFSETS_AGAIN_MS = 100;
/** New partitions, and a topic that was made again, are known after this time. */
const METADATA_MAX_AGE_MS = 30_000;

/** Limits a response to several reads; one read may ask for more. */
const SHARED_BYTES = 1024 * 1024;

/** A read that waits for the next request to its broker. */
interface WaitingRead extends ReadAt {
  leaderEpoch: number;
  answer: (fetched: { partition: FetchedPartition; connection: number } | 'throttled') => void;
  fail: (error: unknown) => void;
}

export class DirectReader {
  /**
   * By the topic for which reads wait; '' for those that do not wait: a broker answers the requests
   * of a connection one after the other.
   */
  readonly #brokers = new Map<string, Promise<LogBrokers>>();
  #isClosed = false;
  /** by topic, without the prefix */
  readonly #leaders = new Map<string, { leaders: Promise<Leaders>; readAt: number }>();
  /** by node, id of the topic and wait */
  readonly #asked = new Map<string, WaitingRead[]>();
  /** number of the connection that was opened last to each node */
  readonly #newest = new Map<number, number>();
  readonly #numbered = new WeakSet<FetchConnection>();
  #opened = 0;

  constructor(
    private readonly connect: () => Promise<LogBrokers>,
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
        if (error instanceof KafkaError && error.errorCode === ERROR.offsetOutOfRange) {
          return { records: [], next: at.offset, end: at.offset, gone: true, era: '' };
        }
        if (tries++ === TRIES || this.#isClosed) throw unavailable(error);
        await sleep(PAUSE_MS * tries);
        this.#leaders.delete(at.topic);
      }
    }
  }

  /**
   * Returns the number of partitions of topics that exist, by their names.
   * @throws AppError `kafka_unavailable` if one is not known within this time; `cannot_start` if
   *   this user may not see one
   */
  async partitionCounts(topics: readonly string[], withinMs: number): Promise<Map<string, number>> {
    const until = performance.now() + withinMs;
    const leaders = new Leaders(
      await orUnavailable(this.#connected()),
      topics.map((topic) => this.prefix + topic),
    );
    for (;;) {
      await orUnavailable(leaders.refresh());
      leaders.requireRights();
      const counts = topics.map((topic) => [topic, leaders.count(this.prefix + topic)] as const);
      const unknown = counts.find(([, count]) => count === 0);
      if (!unknown) return new Map(counts);
      if (performance.now() > until) throw unavailable(new Error(`${unknown[0]} does not exist`));
      await sleep(OFFSETS_AGAIN_MS);
    }
  }

  /**
   * As `Kafka.ranges`.
   * @param withinMs time for which leaders are looked for
   * @throws AppError `kafka_unavailable`
   */
  async ranges(topic: string, sinceMs?: number, withinMs = OFFSETS_WITHIN_MS): Promise<Range[]> {
    const until = performance.now() + withinMs;
    for (;;) {
      try {
        return await this.#ranges(topic, sinceMs);
      } catch (error) {
        if (performance.now() > until) throw unavailable(error);
        await sleep(OFFSETS_AGAIN_MS);
        this.#leaders.delete(topic);
      }
    }
  }

  async #ranges(topic: string, sinceMs: number | undefined): Promise<Range[]> {
    const leaders = await this.#leadersOf(topic);
    const places = leaders.placesOf(this.prefix + topic);
    if (places.length === 0) throw new Error(`${topic} does not exist`);
    const bounds = await leaders.allBounds(this.prefix + topic, sinceMs);
    return places.map(({ number: partition }) => {
      const known = bounds.get(partition);
      if (!known) throw new Error(`partition ${partition} of ${topic} has no leader`);
      return { partition, ...known };
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const connected of this.#brokers.values()) {
      const brokers = await connected.catch(() => undefined);
      await brokers?.disconnect();
    }
  }

  #connected(name = ''): Promise<LogBrokers> {
    if (this.#isClosed) return Promise.reject(new Error('the reader is closed'));
    const known = this.#brokers.get(name);
    if (known) return known;
    const brokers = this.connect();
    this.#brokers.set(name, brokers);
    brokers.catch(() => {
      if (this.#brokers.get(name) === brokers) this.#brokers.delete(name);
    });
    return brokers;
  }

  #leadersOf(topic: string): Promise<Leaders> {
    const known = this.#leaders.get(topic);
    if (known && performance.now() - known.readAt < METADATA_MAX_AGE_MS) return known.leaders;
    const leaders = this.#findLeaders(topic);
    this.#leaders.set(topic, { leaders, readAt: performance.now() });
    return leaders;
  }

  async #findLeaders(topic: string): Promise<Leaders> {
    const leaders = new Leaders(await this.#connected(), [this.prefix + topic]);
    await leaders.refresh();
    return leaders;
  }

  /** @returns undefined if the broker throttles this client */
  async #fetch(at: ReadAt): Promise<Fetched | undefined> {
    const { topic, partition, offset, until = 0 } = at;
    const leaders = await this.#leadersOf(topic);
    const leader = leaders.of({ topic: this.prefix + topic, number: partition });
    if (!leader) throw new Error(`partition ${partition} of ${topic} has no leader`);
    const { node, topicId, epoch: leaderEpoch } = leader;
    const answered = await new Promise<Parameters<WaitingRead['answer']>[0]>((answer, fail) =>
      this.#queue(node, topicId, [{ ...at, leaderEpoch, answer, fail }]),
    );
    if (answered === 'throttled') return undefined;
    const { partition: fetched, connection } = answered;
    const next = nextOffset(topic, fetched, offset);
    const end = fetched.highWatermark;
    const era = [topicId, leaderEpoch, node, connection].join(' ');
    if (next === offset && offset < Math.max(until, end)) {
      throw new Error(`the leader of ${topic} does not return offset ${offset} yet`);
    }
    const owner = new Partition(topic, partition, offset);
    const records = fetched.records
      // A broker returns whole batches, which may start before the offset.
      .filter((record) => record.offset >= offset && !record.isHidden)
      .map((record) => new ConsumedRecord(owner, record));
    return { records, next, end, gone: false, era };
  }

  /** Sends reads of one topic with the next request to a broker. */
  #queue(node: number, topicId: string, reads: readonly WaitingRead[]): void {
    const [first] = reads;
    if (!first) return;
    const key = `${String(node)} ${topicId} ${String(first.waitMs)}`;
    const waiting = this.#asked.get(key) ?? [];
    if (waiting.length === 0) setImmediate(() => void this.#send(node, topicId, key));
    this.#asked.set(key, [...waiting, ...reads]);
  }

  async #send(node: number, topicId: string, key: string): Promise<void> {
    const all = this.#asked.get(key) ?? [];
    this.#asked.delete(key);
    // A request names each partition once.
    const first = new Map<number, WaitingRead>();
    for (const each of all) if (!first.has(each.partition)) first.set(each.partition, each);
    const asked = [...first.values()];
    const later = all.filter((each) => first.get(each.partition) !== each);
    try {
      const left = this.#answer(asked, await this.#request(node, topicId, asked));
      this.#queue(node, topicId, [...left, ...later]);
    } catch (error) {
      for (const each of all) each.fail(error);
    }
  }

  async #request(
    node: number,
    topicId: string,
    asked: readonly WaitingRead[],
  ): Promise<FetchAnswer & { connection: number }> {
    const { topic = '', waitMs } = asked[0] ?? {};
    const brokers = await this.#connected(waitMs === undefined ? '' : topic);
    const connection = await brokers.openFetches(node);
    const number = this.#numberOf(node, connection);
    const sizes = asked.map(({ maxBytes }) => maxBytes);
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const input = {
      ...NO_SESSION,
      maxWaitMs: waitMs ?? 0,
      minBytes: waitMs ? 1 : 0,
      maxBytes: Math.max(...sizes, Math.min(all, SHARED_BYTES)),
      rack: '',
      topics: [{ topic: topicId, partitions: [...asked] }],
    };
    return new Promise((resolve, reject) => {
      connection.fetch(input, (error, answer) => {
        if (!answer) reject(error ?? new Error('the broker gave no answer'));
        else if (answer.errorCode !== 0) reject(new KafkaError('a fetch', answer.errorCode));
        else resolve({ ...answer, connection: number });
      });
    });
  }

  /**
   * Returns the number of the newest connection to a broker. Behind a new one the broker may have
   * started anew, with another log.
   */
  #numberOf(node: number, connection: FetchConnection): number {
    if (!this.#numbered.has(connection)) {
      this.#numbered.add(connection);
      this.#newest.set(node, ++this.#opened);
    }
    return this.#newest.get(node) ?? 0;
  }

  /** @returns the reads that the others left no room for in the answer */
  #answer(
    asked: readonly WaitingRead[],
    { throttleMs, partitions, connection }: FetchAnswer & { connection: number },
  ): WaitingRead[] {
    const isFull = partitions.some(({ next }) => next !== undefined);
    const byNumber = new Map(partitions.map((each) => [each.partition, each]));
    return asked.filter(({ topic, partition, offset, answer, fail }) => {
      const fetched = byNumber.get(partition);
      if (!fetched) {
        if (throttleMs > 0) answer('throttled');
        else fail(new Error(`the broker's answer lacks partition ${partition} of ${topic}`));
        return false;
      }
      const { errorCode, next, highWatermark, damage } = fetched;
      if (errorCode !== 0) {
        fail(
          new KafkaError(`${topic}/${String(partition)}${damage ? ` (${damage})` : ''}`, errorCode),
        );
        return false;
      }
      if (isFull && next === undefined && highWatermark > offset) return true;
      answer({ partition: fetched, connection });
      return false;
    });
  }
}

/**
 * Returns the next offset after a fetch of one partition alone. A broker returns at least one
 * batch, however large. In a compacted topic, no batch below the high watermark means that
 * compaction has left no records there. In other topics it proves nothing, and the offset stays.
 */
function nextOffset(
  topic: string,
  { next, highWatermark }: Pick<FetchedPartition, 'next' | 'highWatermark'>,
  offset: number,
): number {
  if (next === undefined && !COMPACTED.has(topic)) return offset;
  return Math.max(offset, next ?? highWatermark);
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
