import { sleep } from '../../runtime/async';
import { messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { type FetchWait, IdleWait } from '../idle-wait';
import { type FetchedRecord } from '../protocol/batch';
import { ERROR } from '../protocol/error-codes';
import {
  type FetchAnswer,
  type FetchedPartition,
  type FetchTopic,
  NO_SESSION,
} from '../protocol/fetch-request';
import { COMPACTED } from '../topics';
import { type FetchConnection, type LogBrokers } from './brokers';
import { FetchSession } from './fetch-session';
import { FetchThrottle } from './fetch-throttle';
import { type Leader, type Leaders } from './leaders';
import { type Partition, placeOf } from './partition';

/**
 * Fetches partitions. Each broker has one fetch in flight, in a session, over all partitions that
 * are read from it. Whenever the log of a partition may have changed, its next fetch compares the
 * position first (position.ts). A long fetch is interrupted for a partition that it does not ask
 * for.
 */

/** Pause after a failed fetch, and of a partition that was refused. */
const AGAIN_MS = 100;
/** Pause of a partition whose records cannot be read: nothing changes soon. */
const DAMAGED_AGAIN_MS = 5_000;
/** Time for which a partition is read from the replica that its leader named. */
const REPLICA_MS = 300_000;

export interface FetcherParts {
  brokers: Pick<LogBrokers, 'openFetches'>;
  /** all partitions that may be fetched, by id */
  partitions: ReadonlyMap<string, Partition>;
  prefix: string;
  leaders: Leaders;
  /** finds leaders again, and then calls `wake` */
  refreshLeaders: () => void;
  /** called with records at and behind the position, in order; never without one */
  onRecords: (id: string, partition: Partition, records: readonly FetchedRecord[]) => void;
  /**
   * called when the log holds another record in place of the last one that was read. The partition
   * rests until it is known where to go on
   */
  onCut: (id: string, partition: Partition) => Promise<void>;
  /** the same, when the log does not hold the offset at which a fetch began */
  onOutOfRange: (id: string, partition: Partition) => Promise<void>;
  /**
   * called for each partition that an answer names, after its records. With it a fetch has no
   * session, so that its answer names all
   * @param begunAt when the fetch began, by `performance.now()`
   */
  onEnd?: (partition: Partition, highWatermark: number, begunAt: number) => void;
  /** called with each answer, and without one after each failure to get one */
  onTurn: (answer?: FetchAnswer, failure?: unknown) => void;
  /** where this process runs; empty: reads from leaders */
  rack: string;
  wait: FetchWait;
  maxBytes: number;
  maxBytesPerPartition: number;
  log: Log;
}

/** The replica from which a partition is read (KIP-392). */
interface Replica {
  node: number;
  /** by `performance.now()` */
  until: number;
}

export class Fetcher {
  readonly #nodes = new Map<number, NodeFetcher>();
  readonly #replicas = new WeakMap<Partition, Replica>();
  #isWaking = false;
  #stopped = false;

  constructor(private readonly parts: FetcherParts) {}

  /** Fetches soon what can be fetched, from each broker that has no fetch in flight. */
  wake(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    // Many partitions are resumed at once.
    queueMicrotask(() => this.#run());
  }

  #run(): void {
    this.#isWaking = false;
    if (this.#stopped) return;
    for (const partition of this.parts.partitions.values()) {
      if (!isReadable(partition)) continue;
      const node = this.nodeOf(partition, this.leaderOf(partition));
      if (node === undefined) this.parts.refreshLeaders();
      else if (!this.#nodes.has(node)) {
        this.#nodes.set(node, new NodeFetcher(node, this.parts, this));
      }
    }
    for (const node of this.#nodes.values()) node.run();
  }

  /**
   * Keeps the next fetches short, because somebody waits for their answers.
   * @returns whether one under way may last for seconds
   */
  hurry(): boolean {
    let isLong = false;
    for (const node of this.#nodes.values()) isLong = node.hurry() || isLong;
    return isLong;
  }

  stop(): void {
    this.#stopped = true;
    for (const node of this.#nodes.values()) node.stop();
  }

  leaderOf(partition: Partition): Leader | undefined {
    return this.parts.leaders.of(placeOf(partition, this.parts.prefix));
  }

  /**
   * Returns the broker from which a partition is read. The leader compares the position before a
   * replica is read.
   */
  nodeOf(partition: Partition, leader: Leader | undefined): number | undefined {
    if (!leader) return undefined;
    partition.position.askFrom(leader);
    const replica = this.#replicas.get(partition);
    if (!replica) return leader.node;
    if (partition.position.isProven && performance.now() < replica.until) return replica.node;
    this.moveBack(partition);
    return leader.node;
  }

  /** Reads a partition from the replica that its leader has named. */
  moveTo(partition: Partition, node: number): void {
    this.#replicas.set(partition, { node, until: performance.now() + REPLICA_MS });
    this.wake();
  }

  /** Reads a partition from its leader again. @returns whether it was read from a replica */
  moveBack(partition: Partition): boolean {
    this.wake();
    return this.#replicas.delete(partition);
  }
}

function isReadable({ position, isReading, waits }: Partition): boolean {
  return isReading && !position.rests && !waits;
}

function placeIn(topicId: string, partition: number): string {
  return `${topicId}/${String(partition)}`;
}

/** A partition in the fetch under way. */
interface AskedPartition {
  id: string;
  partition: Partition;
  offset: number;
  /** as it was known then */
  leader: Leader;
}

/** Fetches from one broker. */
class NodeFetcher {
  #connection: FetchConnection | undefined;
  #isBusy = false;
  #stopped = false;
  readonly #session = new FetchSession();
  readonly #throttle = new FetchThrottle();
  readonly #wait: IdleWait;
  #isFetching = false;
  /** when the last fetch began, by `performance.now()` */
  #begunAt = 0;
  /** the partition with which a fetch without a session begins */
  #turn = 0;
  /** the last fetch was ended for a partition that it lacked */
  #isInterrupted = false;
  /** by topic id and partition */
  #asked = new Map<string, AskedPartition>();

  constructor(
    private readonly node: number,
    private readonly parts: FetcherParts,
    private readonly owner: Fetcher,
  ) {
    this.#wait = new IdleWait(parts.wait);
  }

  /** Fetches, if there is anything to fetch and no fetch in flight. */
  run(): void {
    if (this.#isBusy) this.#interruptIfLong();
    if (this.#isBusy || this.#stopped || !this.#hasWork()) return;
    this.#isBusy = true;
    if (!this.#connection?.isOpen) {
      void this.#connect();
      return;
    }
    const waitMs = this.#throttle.wait(performance.now());
    if (waitMs > 0) setTimeout(this.#fetch, waitMs);
    else this.#fetch();
  }

  /** Keeps the next fetches short. @returns whether the one under way may last for seconds */
  hurry(): boolean {
    this.#wait.markActive();
    return this.#isFetching && this.#wait.isLong;
  }

  stop(): void {
    this.#stopped = true;
    this.#connection?.close();
  }

  /** Ends a fetch that may wait for seconds, so that the next one asks for what it lacks. */
  #interruptIfLong(): void {
    if (!this.#isFetching || !this.#wait.isLong || this.#isInterrupted) return;
    for (const partition of this.parts.partitions.values()) {
      const leader = this.#sourceOf(partition);
      if (!leader || this.#asksFor(partition, leader)) continue;
      this.#wait.markActive();
      this.#isInterrupted = true;
      this.#connection?.close();
      return;
    }
  }

  #asksFor(partition: Partition, { topicId }: Leader): boolean {
    const asked = this.#asked.get(placeIn(topicId, partition.number));
    return asked?.partition === partition && asked.offset === partition.position.fetchFrom;
  }

  #hasWork(): boolean {
    for (const partition of this.parts.partitions.values()) {
      if (this.#sourceOf(partition)) return true;
    }
    return false;
  }

  /** Returns the leader of a partition that is to be fetched here; undefined for others. */
  #sourceOf(partition: Partition): Leader | undefined {
    if (!isReadable(partition)) return undefined;
    const leader = this.owner.leaderOf(partition);
    return this.owner.nodeOf(partition, leader) === this.node ? leader : undefined;
  }

  async #connect(): Promise<void> {
    this.#session.reset();
    try {
      this.#connection = await this.parts.brokers.openFetches(this.node);
      this.#doubtAll();
      this.#isBusy = false;
      this.owner.wake();
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * The broker may have started anew, with another log. The leader compares, also what was read
   * from a replica, and what is not read at the moment: it may be read on over the next connection.
   */
  #doubtAll(): void {
    for (const partition of this.parts.partitions.values()) {
      const node = this.owner.nodeOf(partition, this.owner.leaderOf(partition));
      if (node === undefined || node === this.node) partition.position.doubt();
    }
  }

  #failed(error: unknown): void {
    this.#connection?.close();
    if (this.#stopped) return;
    this.#doubtAll();
    const { log, onTurn, refreshLeaders } = this.parts;
    log.debug({ broker: this.node, reason: messageOf(error) }, 'fetch.failed');
    onTurn(undefined, this.#isInterrupted ? undefined : error);
    const again = () => {
      this.#isBusy = false;
      refreshLeaders();
    };
    setTimeout(again, this.#isInterrupted ? 0 : AGAIN_MS);
  }

  readonly #fetch = (): void => {
    const connection = this.#connection;
    const topics = this.#topics();
    if (this.#stopped || topics.length === 0 || !connection) {
      this.#isBusy = false;
      return;
    }
    const { maxWaitTime, minBytes } = this.#wait.nextFetchWait();
    this.#isInterrupted = false;
    const { maxBytes, rack } = this.parts;
    const session = this.parts.onEnd ? { ...NO_SESSION, topics } : this.#session.next(topics);
    const isProven = [...this.#asked.values()].every(
      ({ partition }) => partition.position.isProven,
    );
    const input = {
      ...session,
      maxWaitMs: maxWaitTime,
      minBytes,
      maxBytes,
      // A replica may not have cut its log yet: the leader compares.
      rack: isProven ? rack : '',
    };
    this.#isFetching = true;
    this.#begunAt = performance.now();
    connection.fetch(input, this.#answered);
  };

  /** Returns the partitions to fetch now. */
  #topics(): FetchTopic[] {
    const topics = new Map<string, FetchTopic>();
    this.#asked = new Map();
    for (const [id, partition] of this.#inTurn()) {
      // A partition that is resumed takes part in the next fetch.
      if (partition.waits) this.#wait.markActive();
      const leader = this.#sourceOf(partition);
      if (!leader) continue;
      const { topicId, epoch: leaderEpoch } = leader;
      const offset = partition.position.fetchFrom;
      let topic = topics.get(topicId);
      if (!topic) topics.set(topicId, (topic = { topic: topicId, partitions: [] }));
      const { maxBytesPerPartition: maxBytes } = this.parts;
      topic.partitions.push({ partition: partition.number, leaderEpoch, offset, maxBytes });
      this.#asked.set(placeIn(topicId, partition.number), { id, partition, offset, leader });
    }
    return [...topics.values()];
  }

  /**
   * Returns all partitions. Without a session a broker fills its answer in their order, so that
   * each fetch begins one partition later.
   */
  #inTurn(): Iterable<[string, Partition]> {
    const { partitions } = this.parts;
    if (this.#session.isKept) return partitions;
    const all = [...partitions];
    const first = this.#turn++ % Math.max(1, all.length);
    return [...all.slice(first), ...all.slice(0, first)];
  }

  readonly #answered = (error: Error | undefined, answer: FetchAnswer | undefined): void => {
    this.#isFetching = false;
    if (this.#stopped) return;
    if (!answer) return this.#failed(error);
    let hasSession: boolean;
    try {
      hasSession = this.#session.answered(answer);
    } catch (refusal) {
      return this.#failed(refusal);
    }
    this.parts.onTurn(answer);
    // When one partition fills the answer, others look empty.
    const isEmpty = answer.partitions.every(({ next }) => next === undefined);
    let records = 0;
    if (hasSession) {
      for (const fetched of answer.partitions) records += this.#take(fetched, isEmpty);
    }
    this.#throttle.noteRecords(records);
    if (records > 0) this.#wait.markActive();
    this.#isBusy = false;
    this.run();
  };

  /** @returns the number of records in the answer */
  #take(fetched: FetchedPartition, isEmpty: boolean): number {
    const asked = this.#asked.get(placeIn(fetched.topic, fetched.partition));
    if (!asked) return 0;
    const { id, partition, offset, leader } = asked;
    const { position } = partition;
    // It may have been given up since the request, begin elsewhere, or have another leader.
    const isCurrent = this.parts.partitions.get(id) === partition && isReadable(partition);
    if (!isCurrent || position.fetchFrom !== offset || !position.asks(leader)) return 0;
    if (fetched.errorCode !== 0) {
      this.#refused(asked, fetched);
      return 0;
    }
    if (fetched.replica >= 0 && fetched.replica !== this.node) {
      this.owner.moveTo(partition, fetched.replica);
      return 0;
    }
    if (position.expectsRecord && fetched.next === undefined && fetched.highWatermark <= offset) {
      this.#rest(partition, this.parts.onOutOfRange(id, partition));
      return 0;
    }
    // Compaction has left no record from here to the end.
    const isEmptied = isEmpty && COMPACTED.has(partition.topic);
    const next = fetched.next ?? (isEmptied ? fetched.highWatermark : undefined);
    if (next !== undefined) {
      if (!position.isProven) {
        const first = fetched.records.find((record) => record.offset >= offset);
        if (!position.compare(first)) {
          this.#rest(partition, this.parts.onCut(id, partition));
          return 0;
        }
        if (offset > position.next) return fetched.records.length;
      }
      const records = recordsFrom(fetched.records, position.next);
      position.read(fetched.records.at(-1), next);
      if (records.length > 0) this.parts.onRecords(id, partition, records);
    }
    this.parts.onEnd?.(partition, fetched.highWatermark, this.#begunAt);
    return fetched.records.length;
  }

  /** Fetches nothing of a partition until the work is done. */
  #rest({ position }: Partition, work: Promise<void>): void {
    position.rest();
    const goOn = () => {
      position.goOn();
      this.owner.wake();
    };
    void work.finally(goOn);
  }

  #refused(
    { id, partition, offset }: AskedPartition,
    { errorCode, damage }: FetchedPartition,
  ): void {
    const { topic, number } = partition;
    const about = { topic, partition: number, offset, errorCode };
    // A replica may lag behind, and its broker may have gone.
    const isReplica = this.owner.moveBack(partition);
    if (errorCode === ERROR.offsetOutOfRange && !isReplica) {
      this.#rest(partition, this.parts.onOutOfRange(id, partition));
      return;
    }
    const isGrave = damage !== undefined || errorCode === ERROR.topicForbidden;
    if (isGrave) this.parts.log.error({ ...about, reason: damage }, 'fetch.refused');
    else this.parts.log.debug(about, 'fetch.refused');
    const again = sleep(isGrave ? DAMAGED_AGAIN_MS : AGAIN_MS);
    // Mostly the leader has moved.
    this.#rest(
      partition,
      again.then(() => this.parts.refreshLeaders()),
    );
  }
}

/** A broker returns whole batches, which may begin before the offset. */
function recordsFrom(records: FetchedRecord[], next: number): readonly FetchedRecord[] {
  const first = records[0];
  if (!first || (first.offset >= next && !records.some(({ isHidden }) => isHidden))) return records;
  return records.filter(({ offset, isHidden }) => offset >= next && !isHidden);
}
