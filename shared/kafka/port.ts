/**
 * Defines what Waypost needs from Kafka. The other files of this folder implement it, over
 * connections of kafkajs. Only tools name kafkajs outside of this folder.
 */

export interface OutRecord {
  /** without the prefix */
  topic: string;
  /** decides the partition (murmur2, like Kafka's own clients); null: any partition */
  key: string | null;
  /** null is a tombstone */
  value: Buffer | string | null;
  headers?: Record<string, string>;
  /** used instead of the partition of the key */
  partition?: number;
  /**
   * Asked before a request that would be the first to write the record: true if it must not be
   * written any more. Its `send` throws `withdrawn`.
   */
  isVoid?: () => boolean;
}

/**
 * A record as read. In a consumer group, its parts can be read only while it is offered to the
 * handler.
 */
export interface InRecord {
  /** without the prefix */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** of the leader that appended it */
  readonly epoch: number;
  /** ms since 1970, by the broker's clock (LogAppendTime) */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  /** a slice of the whole fetch response: copy it to keep it for longer */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/**
 * Sends records in few, large requests: immediately while it is idle, and in batches while it is
 * busy.
 */
export interface BatchProducer {
  /**
   * Resolves when Kafka acknowledged every record (acks=all).
   * @throws AppError `overloaded` immediately if the buffer is full; `kafka_unavailable` after
   *   `deliveryTimeoutMs`; `kafka_refused` if the broker refuses a record permanently (not
   *   retriable), or its topic until an operator changes something (retriable; with
   *   `deliveryTimeoutMs: 'retry'` such records are held until then); `withdrawn` if a record has
   *   become void. The others may be written nevertheless
   */
  send(records: OutRecord[]): Promise<void>;
  /**
   * bytes accepted and not yet acknowledged, without the allowance of blocked partitions (1 MB
   * each)
   */
  readonly pendingBytes: number;
  /**
   * when the oldest unacknowledged record was passed to `send`, ms since 1970; undefined if there
   * is none
   */
  readonly oldestPendingAt: number | undefined;
  /** Sends the remaining records, waits for them at most `deadlineMs`, and disconnects. */
  close(deadlineMs: number): Promise<void>;
}

/** A record of a consumer group. Its handler must call `done`, `handBack` or `defer`. */
export interface OpenRecord extends InRecord {
  /**
   * Marks the record as done: its outcome is acknowledged by Kafka, or not needed. Call once, in
   * any order. The committed offset is the lowest open one. Late calls, after the partition was
   * lost, do nothing.
   */
  done(): void;
  /**
   * True if the partition is to move to another member or may have moved, or this process stops:
   * hand back unstarted records.
   */
  readonly isRevoking: boolean;
  /**
   * True if this process may have lost the partition, because its session may have ended: the next
   * owner reads the record, and this process does if it still has it. Hand it back, unless it is
   * finished: what follows from a failure here would compete with the next owner.
   */
  readonly isInDoubt: boolean;
  /**
   * Hands an unprocessed record back while `isRevoking`: the revocation does not wait for it, and
   * the next owner reads it, but not the done records behind it. Call it once, instead of `done`.
   * @returns false if the commit metadata has no room for it: the record must be finished here
   */
  handBack(): boolean;
  /**
   * Leaves the record in Kafka: its offset stays open without delaying a revocation, and costs a
   * byte of memory. It is read again after `Consumption.readDeferred`, or by the next owner. Call
   * it once, instead of `done`.
   */
  defer(): void;
}

/**
 * `accepted`; or `busy`: offer it again after `Consumption.resume()`; or a wait, ms: offer it again
 * after that time.
 */
export type DispatchResult = 'accepted' | 'busy' | { againInMs: number };

export interface Consumption {
  /** Reads on in partitions that were refused with `busy`. Cheap if there are none. */
  resume(): void;
  /**
   * Reads deferred records again, within a tenth of a second. Records that are done are skipped.
   */
  readDeferred(): void;
  /** number of deferred records that were not read again */
  readonly deferred: number;
  /** Returns why the consumer loop must be considered stuck; undefined while it turns. */
  stuck(): string | undefined;
  /** true while this process is a member of the group and reads */
  readonly joined: boolean;
  /** number of records that were accepted, and neither done nor handed back */
  readonly open: number;
  /** Returns whether this process currently reads the records of this key. */
  owns(topic: string, key: string): boolean;
  /**
   * Accepts no more records, waits until none is open (at most `deadlineMs`), commits, and leaves
   * the group.
   */
  stop(deadlineMs: number): Promise<void>;
}

export interface ConsumeOptions {
  /** the consumer group, without the prefix */
  group: string;
  /** the group in metrics, if its name differs with each database (default: its name) */
  label?: string;
  /** without the prefix */
  topics: string[];
  /**
   * Called in the order of each partition; must not block. An error that it throws ends the
   * process.
   */
  onRecord(record: OpenRecord): DispatchResult;
  /** Called when open records become `isRevoking`: hand back the unstarted ones. */
  onRevoking?(): void;
  /**
   * Called before the first record of a partition that begins anew: its log was cut, or another
   * member had it since this one read it, and may have met a cut. What was read from this offset on
   * is gone, or comes again.
   */
  onRestart?(restart: Restart): void;
  /** bytes of one partition in one fetch (default 256 KiB) */
  maxBytesPerPartition?: number;
  /**
   * longest wait of a fetch for records (default 100 ms), which can delay a resumed partition as
   * long. After five seconds without records and paused partitions, a fetch waits for up to five
   * seconds.
   */
  fetchWaitMs?: number;
  /**
   * accepts this delay, ms, for far fewer fetches: they wait for more than the first record
   * (replaces `fetchWaitMs`)
   */
  batchMs?: number | undefined;
  rebalanceListener?: RebalanceListener;
  /** called when the consumer cannot continue: end the process */
  onFatal(error: unknown): void;
}

/** A partition begins anew. */
export interface Restart {
  /** without the prefix */
  topic: string;
  partition: number;
  from: number;
  /** true: its log was cut; false: another member had it since its last assignment here */
  wasCut: boolean;
}

/**
 * Keeps state for each partition. Partitions are numbers, because co-partitioned topics share the
 * state.
 */
export interface RebalanceListener {
  /**
   * Called with the partitions that this process now owns. Release all others as soon as possible.
   */
  onAssigned(partitions: ReadonlySet<number>): void;
  /**
   * Called when the session was lost and other members may own the partitions: write no more
   * records for them.
   */
  onLost(): void;
  /** Returns whether a partition is still in use: until then it goes to no other member. */
  isDraining(partition: number): boolean;
}

/**
 * Reads a whole topic outside any group: `config`, or the tail of `attempts`. Commits no offsets.
 */
export interface Tail {
  /**
   * Resolves when `onRecord` has received all records that were in the topic at the time of the
   * call.
   * @throws AppError `kafka_unavailable` after `deadlineMs`
   */
  caughtUp(deadlineMs: number): Promise<void>;
  /**
   * `onRecord` has received all records that were in the topic at this time, by
   * `performance.now()`; -Infinity at first.
   */
  readonly completeAt: number;
  /**
   * Lets `completeAt` move soon, and about ten times a second for the next seconds: somebody waits
   * for it.
   */
  expectSoon(): void;
  /**
   * Returns why the reader must be considered stuck (no progress although brokers answer);
   * undefined otherwise.
   */
  stuck(): string | undefined;
  stop(): Promise<void>;
}

export interface TailOptions {
  /** for the log */
  name: string;
  topic: string;
  /**
   * `sinceMs`: from the first record appended at that time (ms since 1970) or later, with at most
   * about `atMost` records
   */
  from: 'beginning' | 'end' | { sinceMs: number; atMost: number };
  /** as in `ConsumeOptions` */
  batchMs?: number | undefined;
  onRecord(record: InRecord): void;
  /** Called each time `completeAt` has moved: at least every five seconds while brokers answer. */
  onComplete?(): void;
  /**
   * For a topic of one partition that is held as a map: called when the log was cut, or its topic
   * made again, because entries may have gone. Then all records follow from the first one on, and
   * `onComplete` when they are complete. Without it, reading goes on at the first record that was
   * appended later.
   */
  onStartOver?(): void;
  onFatal(error: unknown): void;
}

export interface BatchProducerOptions {
  /** beyond it `send` throws `overloaded` */
  maxPendingBytes: number;
  /** `retry`: tries until Kafka acknowledges, however long; a number: throws after this many ms */
  deliveryTimeoutMs: number | 'retry';
  /**
   * Sends a record whose partition has accepted none for a second to the next partition of its
   * topic that accepts records. For producers whose keys only keep records together, and are not
   * essential. Default: the record waits.
   */
  spillToOtherPartitions?: boolean;
  /**
   * Least time between the starts of two requests, ms (default 0). A producer that was idle for
   * this long sends immediately. A record in a small request costs both sides several times as much
   * as in a large one.
   */
  lingerMs?: number;
  /**
   * Upper limit of `lingerMs`, as a multiple of the usual duration of a request (default: none).
   */
  lingerRequests?: number;
}

export interface ReadAt {
  topic: string;
  partition: number;
  offset: number;
  maxBytes: number;
  /**
   * A known end of the partition. Below it a read makes progress (`next` is behind `offset`),
   * reports the records as `gone`, or fails. It never looks like the end.
   */
  until?: number;
  /** longest wait for a record at the offset, ms (default 0). Reads of other topics do not wait. */
  waitMs?: number;
}

/** Records of a partition from an offset on. */
export interface Fetched {
  records: InRecord[];
  /** offset to read on from: behind this read, even if compaction has left no records in it */
  next: number;
  /** end of the partition, from its leader */
  end: number;
  /** true if the offset is before the first retained record, or behind the end */
  gone: boolean;
  /**
   * differs between two reads if the log may have been cut, or its topic made again, between them:
   * the leader, its epoch or its connection is another, or the topic has another id
   */
  era: string;
}

/** The offsets of a partition: from `low` to before `high`. */
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
   * Reads records from an offset on, up to `maxBytes` (at least one record), without a group.
   * @throws AppError `kafka_unavailable`
   */
  read(at: ReadAt): Promise<Fetched>;
  /**
   * Returns, by partition, the committed offset of a group of `consume`; 0 without a commit.
   * @throws AppError `kafka_unavailable`
   */
  committed(group: string, topic: string): Promise<number[]>;
  /**
   * Returns the partitions of a topic; with `sinceMs`, `low` is the first record appended at that
   * time or later.
   * @throws AppError `kafka_unavailable`
   */
  ranges(topic: string, sinceMs?: number): Promise<Range[]>;
  /**
   * Gives existing topics the retention of WAYPOST_TOPIC_RETENTION, and leaves topics that it does
   * not name. Logs where Kafka refuses it.
   */
  setRetention(): Promise<void>;
  /** Returns all topics with the prefix, without it. */
  listTopics(): Promise<string[]>;
  close(): Promise<void>;
}
