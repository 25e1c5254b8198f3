/**
 * What Waypost wants of a log. kafkajs is behind it (the other files of this folder); nothing outside this folder
 * names it, so that another client can take its place.
 */

export interface OutRecord {
  /** without the prefix */
  topic: string;
  /** the partition follows from it (murmur2, as Kafka's own clients); null: any */
  key: string | null;
  /** null is a tombstone */
  value: Buffer | string | null;
  headers?: Record<string, string>;
  /** instead of the one that follows from the key */
  partition?: number;
}

/** A record as read. Of a consumer group, its parts can be read only while it is being offered. */
export interface InRecord {
  /** without the prefix */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** ms since 1970, by the broker's clock (LogAppendTime) */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  /** A slice of the whole fetch response: copy it to keep it longer than a moment. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Writes records in few, large requests: at once while it is idle, gathered while it is not. */
export interface BatchProducer {
  /**
   * Resolves when Kafka acknowledged every record (acks=all).
   * @throws AppError `overloaded` at once where the buffer is full; `kafka_unavailable` where the appender gives up;
   *   `kafka_refused` where the broker refuses a record for good (not retriable), or its topic until somebody changes
   *   something (retriable; with `giveUpAfterMs: 'retry'` such records are held until then)
   */
  send(records: OutRecord[]): Promise<void>;
  /** bytes accepted and not yet acknowledged, without what partitions that take nothing may hold (1 MB each) */
  readonly pendingBytes: number;
  /** when the oldest unacknowledged record was given, ms since 1970; undefined where there is none */
  readonly oldestPendingAt: number | undefined;
  /** Sends what is left, waits for it at most `deadlineMs`, and disconnects. */
  close(deadlineMs: number): Promise<void>;
}

/** A record of a consumer group, with the duty to say when it is done. */
export interface OpenRecord extends InRecord {
  /**
   * Its outcome is safe: acknowledged by Kafka, or not needed. Call once, in any order; the offset committed is the
   * lowest one still open. Late calls, after the partition was lost, do nothing.
   */
  done(): void;
  /** Its partition is about to be another's, or this process stops: what has not been begun is better given back. */
  readonly isRevoking: boolean;
  /**
   * Gives it back untouched, where it is leaving: nobody waits for its end, and the next owner reads it, and not what is
   * done behind it. Instead of `done`, once.
   * @returns false where no more can be told to the next owner: it must be brought to its end here
   */
  handBack(): boolean;
  /**
   * Leaves it in Kafka: its offset stays open, nobody waits for its end, and it costs a byte of memory. It is read again
   * after `Consumption.readDeferred`, or by the next owner. Instead of `done`, once.
   */
  defer(): void;
}

/** `taken`; or `full`: read it again after `Consumption.resume()`; or a wait, ms: read it again after that. */
export type DispatchResult = 'accepted' | 'busy' | { againInMs: number };

export interface Consumption {
  /** Partitions that were refused with `full` are read again. Cheap where there are none. */
  resume(): void;
  /** Reads deferred records again, a tenth of a second later at most. What is done is skipped. */
  readDeferred(): void;
  /** records that are deferred and were not read again */
  readonly deferred: number;
  /** why the consumer loop must be considered stuck; undefined while it turns */
  stuck(): string | undefined;
  /** whether the group was joined and partitions are read */
  readonly joined: boolean;
  /** records taken, and neither done nor released */
  readonly open: number;
  /** Whether records of this key are read by this process at present. */
  owns(topic: string, key: string): boolean;
  /** Takes no more, waits until no record is open (at most `deadlineMs`), commits, leaves the group. */
  stop(deadlineMs: number): Promise<void>;
}

export interface ConsumeOptions {
  /** the consumer group, without the prefix */
  group: string;
  /** what metrics call the group, where its name is another with each database (default: its name) */
  label?: string;
  /** without the prefix */
  topics: string[];
  /** Called in the order of each partition; must not wait for anything. What it throws ends the process. */
  onRecord(record: OpenRecord): DispatchResult;
  /** Some of the open records are `leaving` from now on: release those that have not been begun. */
  onRevoking?(): void;
  /** bytes of one partition in one fetch (default 1 MiB) */
  maxBytesPerPartition?: number;
  /** how long a fetch waits for records where there are none (default 100 ms); a resumed partition may have to wait so long */
  fetchWaitMs?: number;
  /** a tenth of a second more is nothing to it: its fetches wait for more than the first record, and are far fewer */
  batchFetches?: boolean;
  /** Keeps something of its own for each partition: told which ones are its own, and asked whether it still holds one. */
  rebalanceListener?: RebalanceListener;
  /** the consumer cannot go on: end the process */
  onFatal(error: unknown): void;
}

/** Whoever keeps state of partitions beside what is read from them. By number: topics that are read together share it. */
export interface RebalanceListener {
  /** These are this process's own from now on. Those that are no more are to be let go as soon as may be. */
  onAssigned(partitions: ReadonlySet<number>): void;
  /** The session was lost, and others may have had any of them since: nothing more may be written for them. */
  onLost(): void;
  /** Whether one is still being worked on: it goes to nobody else meanwhile. */
  isDraining(partition: number): boolean;
}

/** A reader of a whole topic outside any group: `config`, or the tail of `attempts`. Keeps no offsets. */
export interface Tail {
  /**
   * Resolves when everything that was in the topic at the time of the call was given to `onRecord`.
   * @throws AppError `kafka_unavailable` after `deadlineMs`
   */
  caughtUp(deadlineMs: number): Promise<void>;
  /** All that was in the topic at this moment, by `performance.now()`, was given to `onRecord`; -Infinity before the first time. */
  readonly completeAt: number;
  /** why the reader must be considered stuck: no progress although brokers answer; undefined while it is well */
  stuck(): string | undefined;
  stop(): Promise<void>;
}

export interface TailOptions {
  /** for the log */
  name: string;
  topic: string;
  /** `sinceMs`: from the first record appended at that time (ms since 1970) or later, and no more than about `atMost` */
  from: 'beginning' | 'end' | { sinceMs: number; atMost: number };
  /** as of `ConsumeOptions` */
  batchFetches?: boolean;
  onRecord(record: InRecord): void;
  /** Called each time `completeAt` has moved on: about ten times a second while brokers answer. */
  onComplete?(): void;
  onFatal(error: unknown): void;
}

export interface BatchProducerOptions {
  /** beyond it `append` throws `overloaded` */
  maxPendingBytes: number;
  /** `retry`: keeps trying until acknowledged, however long; a number: gives up and throws after so many ms */
  deliveryTimeoutMs: number | 'retry';
  /**
   * A record whose partition has taken nothing for a second goes to the next partition of its topic that takes records:
   * for those who keep records together by key, and can do without. Default: it waits.
   */
  divert?: boolean;
  /**
   * A busy appender starts a request at most once in so many ms (default 0), and one that has been quiet for so long at
   * once: small requests cost both sides several times as much a record as large ones.
   */
  lingerMs?: number;
}

export interface ReadAt {
  topic: string;
  partition: number;
  offset: number;
  maxBytes: number;
  /**
   * An end that the partition is known to have. Below it a read goes on (`next` is behind `offset`), or the records are
   * `gone`, or the read fails: it never looks like the end.
   */
  until?: number;
}

/** Records as they lie in a partition, from an offset on. */
export interface Fetched {
  records: InRecord[];
  /** where to read on: behind what was read, also where compaction has left no record there */
  next: number;
  /** the end of the partition, as its leader says */
  end: number;
  /** the offset is before the first record that is kept, or behind the end */
  gone: boolean;
}

/** What a partition holds: from `low` to before `high`. */
export interface Range {
  partition: number;
  low: number;
  high: number;
}

export interface Kafka {
  producer(options: BatchProducerOptions): Promise<BatchProducer>;
  consume(options: ConsumeOptions): Promise<Consumption>;
  tail(options: TailOptions): Promise<Tail>;
  /**
   * Records from an offset on, as many as fit into `maxBytes` (one at least), without a group and without waiting.
   * @throws AppError `kafka_unavailable`
   */
  read(at: ReadAt): Promise<Fetched>;
  /**
   * By partition, the offset that a group of `consume` has committed; 0 where it has not.
   * @throws AppError `kafka_unavailable`
   */
  committed(group: string, topic: string): Promise<number[]>;
  /**
   * The partitions of a topic; with `sinceMs`, `low` is the first record appended at that time or later.
   * @throws AppError `kafka_unavailable`
   */
  ranges(topic: string, sinceMs?: number): Promise<Range[]>;
  /** All topics there are under the prefix, without it. */
  listTopics(): Promise<string[]>;
  close(): Promise<void>;
}
