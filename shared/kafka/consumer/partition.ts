import { randomBytes } from 'node:crypto';
import { type FetchedRecord } from '../protocol/batch';
import { decodeNote, encodeNote, MOST_NOTE_BYTES } from './commit-note';
import { OffsetTracker } from './offset-tracker';
import { type Ownership, ownershipAfter, type OwnershipChange } from './ownership';
import { Position } from './position';
import { type OpenRecord } from '../port';

/** A partition with its full topic name. */
export interface TopicPartition {
  topic: string;
  number: number;
}

export function idOf({ topic, number }: TopicPartition): string {
  return `${topic}/${String(number)}`;
}

export function placeOf({ topic, number }: Partition, prefix: string): TopicPartition {
  return { topic: prefix + topic, number };
}

/** Interval of commits while only records above the offset are finished. */
const RUNS_EVERY_MS = 200;

/** Times are in ms, by `performance.now()`, which does not jump when the clock is set. */
export interface Commit {
  /** negative without a commit */
  offset: number;
  /** from `encodeNote` */
  metadata: string;
  /** `changes` of the offset tracker at this commit */
  changes: number;
  atMs: number;
}

/** The session of a member, with all its partitions. */
export interface Session {
  /** returns whether other members may own them */
  isInDoubt(): boolean;
}

/** For a reader that is no member of a group: nobody takes its partitions. */
const NO_SESSION: Session = { isInDoubt: () => false };

/**
 * Holds one partition while this process owns it: its ownership, its position, its offset tracker,
 * its last commit, and its buffered records.
 *
 * Invariant: unless `isReading`, it dispatches no records, and is released when no record is open
 * and all finished records are committed. While `isInDoubt`, another member may own it: records in
 * flight are finished here, and any number of unstarted records can be handed back.
 */
export class Partition {
  #ownership: Ownership = 'reading';
  /**
   * The records of a fetch from the first refused one on: fetching and decoding them again costs
   * more than all else.
   */
  buffered: readonly FetchedRecord[] | undefined;
  /** runs while the handler has asked for the records again at a later time */
  timer: NodeJS.Timeout | undefined;
  /** It takes no new records, because a deferred one is too far behind. */
  full = false;
  /**
   * tells the commits of this owner from others: an answer may not come although Kafka stored one
   */
  readonly #owner = 1 + randomBytes(4).readUInt32BE();
  /** the last commit that was acknowledged, or the one at which it starts */
  #stored: Commit;
  /** room of a note in the last commit of the member */
  #noteBytes = MOST_NOTE_BYTES;
  /** unfinished fetches: the first offset of each, and the append time of that record */
  #fetches: { offset: number; atMs: number }[] = [];
  /** for each cut of its log: offset of the first record that was cut off */
  readonly #cuts: number[] = [];
  readonly offsets: OffsetTracker;
  position: Position;

  /**
   * @param committed the offset at which it starts if it was committed
   * @param metadata that was committed with it
   */
  constructor(
    readonly topic: string,
    readonly number: number,
    committed: number,
    metadata = '',
    private readonly session: Session = NO_SESSION,
  ) {
    const { last, runs } = decodeNote(committed, metadata);
    this.offsets = new OffsetTracker(committed, runs);
    this.position = new Position(committed, last);
    this.#stored = { offset: committed, metadata, changes: 0, atMs: 0 };
  }

  /** Creates a partition that has no commit. @param start the first offset to read */
  static uncommitted(topic: string, number: number, start: number, session?: Session): Partition {
    const partition = new Partition(topic, number, start, '', session);
    partition.#stored.offset = -1;
    return partition;
  }

  /**
   * Goes on after its log was cut. What is known of the records below the cut still holds, also of
   * those in flight.
   * @param end offset of the first record that another one may have replaced
   */
  cutAt(end: number): void {
    this.#cuts.push(end);
    this.discardBuffered();
    this.offsets.cutAt(end);
    this.#fetches = this.#fetches.filter(({ offset }) => offset < end);
    // The comparison is at the cut, also if older records are read again: a second cut may come
    // first, below records that count as done.
    this.position = Position.afterCut(end, this.position.last);
    this.position.goBack(this.offsets.readFrom);
  }

  /** Number of times that its log was cut. */
  get cuts(): number {
    return this.#cuts.length;
  }

  /**
   * Returns whether a record was cut off the log.
   * @param cutsBefore `cuts` when it was read: another record may have its offset since
   */
  isCutOff(offset: number, cutsBefore: number): boolean {
    return this.#cuts.some((end, i) => i >= cutsBefore && offset >= end);
  }

  /** the last committed offset; negative without a commit */
  get committed(): number {
    return this.#stored.offset;
  }

  /** Number of records done since the last commit. */
  get uncommitted(): number {
    return this.offsets.changes - this.#stored.changes;
  }

  /**
   * Returns whether no other owner has committed since: what is stored is of this owner, or what it
   * started with. A commit that has vanished was reset by an operator.
   */
  isLastOwner(found: Partition): boolean {
    const { offset, metadata } = found.#stored;
    if (offset < 0) return this.committed < 0;
    if (decodeNote(offset, metadata).owner === this.#owner) return true;
    return offset === this.committed && metadata === this.#stored.metadata;
  }

  /** True while nothing is fetched, because the handler refused a record. */
  get waits(): boolean {
    return this.buffered !== undefined;
  }

  /** Notes fetched records. */
  fetched(records: readonly Stamped[]): void {
    const [first] = records;
    if (!first) return;
    const done = this.#fetches.findLastIndex(({ offset }) => offset <= this.offsets.committable);
    if (done > 0) this.#fetches.splice(0, done);
    this.#fetches.push({ offset: first.offset, atMs: first.timestamp });
    if (this.#fetches.length > MOST_FETCHES) {
      this.#fetches = this.#fetches.filter((_, i) => i % 2 === 0);
    }
  }

  /** Returns the number of offsets between the last record read and these records. */
  gapBefore([first]: readonly FetchedRecord[]): number {
    return first ? this.offsets.gapBefore(first.offset) : 0;
  }

  /** Returns the state of the partition for metrics. */
  get progress(): PartitionProgress {
    const { topic, number: partition, buffered } = this;
    const { committable, next } = this.offsets;
    const reading = buffered ? 'resting' : 'reading';
    const state = this.isReading ? reading : 'leaving';
    // The time of the first record in the same fetch; with small fetches it is exact to a tenth of
    // a second.
    const open =
      committable < next
        ? this.#fetches.findLast(({ offset }) => offset <= committable)?.atMs
        : undefined;
    return { topic, partition, committable, oldestAtMs: open ?? buffered?.[0]?.timestamp, state };
  }

  /** Discards buffered records. */
  discardBuffered(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.buffered = undefined;
  }

  /** Notes who owns it now. It reads on from the first record that was handed back or deferred. */
  change(change: OwnershipChange): void {
    const before = this.#ownership;
    this.#ownership = ownershipAfter(before, change);
    if (this.#ownership === before) return;
    if (this.isReading) this.goBack();
    else this.discardBuffered();
  }

  /** True while its records are started. */
  get isReading(): boolean {
    return this.#ownership === 'reading';
  }

  /** True if it is to move to another member or may have moved, or this process stops. */
  get isRevoking(): boolean {
    return !this.isReading || this.session.isInDoubt();
  }

  /** True if another member may own it. */
  get isInDoubt(): boolean {
    return this.#ownership === 'lost' || this.session.isInDoubt();
  }

  /** Reads on from the first record that was handed back or deferred. */
  goBack(): void {
    this.discardBuffered();
    this.position.goBack(this.offsets.readFrom);
  }

  /**
   * True if no record is open and all finished records are committed, also those above the offset.
   */
  get drained(): boolean {
    const { open, committable } = this.offsets;
    return open === 0 && committable === this.committed && this.uncommitted === 0;
  }

  /**
   * Hands a record back.
   * @returns false if the commit metadata may have no room for one more unfinished record, and the
   *   next owner depends on it
   */
  release(offset: number): boolean {
    const mostReleased = this.#noteBytes / RELEASED_BYTES;
    if (!this.isInDoubt && this.offsets.released >= mostReleased) return false;
    this.offsets.release(offset);
    return true;
  }

  /**
   * Returns what to commit; undefined without a change, or if only metadata has changed since a
   * recent commit.
   * @param noteBytes most bytes of its note
   */
  commit(nowMs: number, noteBytes = MOST_NOTE_BYTES): Commit | undefined {
    this.#noteBytes = noteBytes;
    // The name of the record before it follows with the next fetch.
    if (!this.position.isNamed && this.isReading) return undefined;
    const { committable: offset, changes } = this.offsets;
    const isEarly = this.uncommitted === 0 || nowMs - this.#stored.atMs < RUNS_EVERY_MS;
    if (offset <= this.committed && isEarly) return undefined;
    const note = { owner: this.#owner, last: this.position.last, runs: this.offsets.doneRuns() };
    const metadata = encodeNote(offset, note, noteBytes);
    return { offset, metadata, changes, atMs: nowMs };
  }

  acknowledged(commit: Commit): void {
    this.#stored = commit;
  }
}

/**
 * A released record adds an open and a finished run to commit metadata, usually of at most two
 * bytes each.
 */
const RELEASED_BYTES = 4;

/**
 * Fetches behind a record that stays open. Beyond the limit every second one is dropped, and later
 * ages are less exact.
 */
const MOST_FETCHES = 1_000;

type Stamped = Pick<FetchedRecord, 'offset' | 'timestamp'>;

/** The state of a partition, for metrics. */
export interface PartitionProgress {
  topic: string;
  partition: number;
  /** all records before it are finished */
  committable: number;
  /**
   * append time of the oldest record that was read and is unfinished, ms since 1970; undefined if
   * there is none
   */
  oldestAtMs: number | undefined;
  /** `resting`: paused, because a record was refused; `leaving`: another member is to own it */
  state: 'reading' | 'resting' | 'leaving';
}

/**
 * A record as the handler sees it: the fetched data, and the partition that tracks its completion.
 */
export class ConsumedRecord implements OpenRecord {
  readonly offset: number;
  readonly #cutsBefore: number;
  #fetched: FetchedRecord | undefined;

  constructor(
    private readonly owner: Partition,
    fetched: FetchedRecord,
  ) {
    this.#fetched = fetched;
    this.offset = fetched.offset;
    this.#cutsBefore = owner.cuts;
  }

  get topic(): string {
    return this.owner.topic;
  }
  get partition(): number {
    return this.owner.number;
  }
  get epoch(): number {
    return this.#part.epoch;
  }
  get timestampMs(): number {
    return this.#part.timestamp;
  }
  get key(): Buffer | null {
    return this.#part.key;
  }
  get value(): Buffer | null {
    return this.#part.value;
  }
  get headers(): Readonly<Record<string, string | undefined>> {
    return this.#part.headers;
  }
  get isRevoking(): boolean {
    return this.owner.isRevoking || this.#isCutOff;
  }
  /** Nobody reads a record again that was cut off. */
  get isInDoubt(): boolean {
    return this.owner.isInDoubt && !this.#isCutOff;
  }
  done(): void {
    if (!this.#isCutOff) this.owner.offsets.done(this.offset);
  }
  handBack(): boolean {
    return this.#isCutOff || this.owner.release(this.offset);
  }
  defer(): void {
    if (!this.#isCutOff) this.owner.offsets.release(this.offset);
  }

  /**
   * Drops the fetched data. A record that stays open for long must not keep a whole fetch in
   * memory.
   */
  letGo(): void {
    this.#fetched = undefined;
  }

  get #isCutOff(): boolean {
    return this.owner.isCutOff(this.offset, this.#cutsBefore);
  }

  get #part(): FetchedRecord {
    if (!this.#fetched) {
      throw new Error(
        'a record is read after it was accepted: copy the parts that are needed later',
      );
    }
    return this.#fetched;
  }
}
