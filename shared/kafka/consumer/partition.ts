import { type FetchedRecord } from '../protocol/batch';
import { decodeRuns, encodeRuns } from './commit-metadata';
import { OffsetTracker } from './offset-tracker';
import { type OpenRecord } from '../port';

/**
 * One partition while it is this process's: its ledger, and why it is not being read.
 *
 * Invariant: once `draining`, nothing more of it is dispatched, and it is given up when none of its records is open and
 * all that is done is committed. Once `fenced`, it may be another
 * member's: its records in flight run to their end, and what has not been begun is given back without limit.
 */
export class Partition {
  draining = false;
  /** its session is lost, or thought to be: what is given back need not be told to the next owner */
  #fenced = false;
  /**
   * From a refused record on, what of its fetch has not been offered: kept, since fetching and decoding it again costs
   * more than all the rest (one record in four was of use).
   */
  buffered: readonly FetchedRecord[] | undefined;
  /** runs where it was refused until a time */
  timer: NodeJS.Timeout | undefined;
  /** the offset committed last, with its metadata, and what the ledger's `changes` were then */
  committed: number;
  #metadata: string;
  /** the commit that was sent last: it may have been stored although no answer came */
  #sent: Commit | undefined;
  #committedChanges = 0;
  #committedAt = 0;
  /** until then it commits although nothing has changed, by `performance.now()` */
  #insistsUntil = -Infinity;
  /** when the newest record that was fetched was appended, ms since 1970; undefined: none was */
  newestAtMs: number | undefined;
  /** of each fetch that is not done: its first offset, and when that was appended */
  #fetches: { offset: number; atMs: number }[] = [];
  readonly offsets: OffsetTracker;

  /** @param metadata of the commit of `start` */
  constructor(
    readonly topic: string,
    readonly number: number,
    private readonly start: number,
    metadata = '',
  ) {
    this.offsets = new OffsetTracker(start, decodeRuns(metadata));
    this.committed = start;
    this.#metadata = metadata;
  }

  /** A partition that begins where the log's end is now: its commit was beyond it. */
  static atEnd(topic: string, number: number, end: number): Partition {
    const partition = new Partition(topic, number, end);
    // kafkajs may find the old commit out of range, and commit "from the beginning" in the next moments.
    partition.committed = -1;
    partition.#insistsUntil = performance.now() + INSISTS_MS;
    return partition;
  }

  /** Whether what is committed now is what was committed here last: no other owner has come so far. */
  isLastOwner(found: Partition): boolean {
    if (found.committed < this.committed) return true;
    const sent = this.#sent;
    if (sent && found.committed === sent.offset && found.#metadata === sent.metadata) return true;
    return found.committed === this.committed && found.#metadata === this.#metadata;
  }

  /** It was refused, and is not to be read for the moment. */
  get waits(): boolean {
    return this.buffered !== undefined;
  }

  /** Records were fetched. */
  fetched(records: readonly Stamped[]): void {
    const [first] = records;
    if (!first) return;
    let newest = this.newestAtMs ?? 0;
    for (const { timestamp } of records) if (timestamp > newest) newest = timestamp;
    this.newestAtMs = newest;
    const done = this.#fetches.findLastIndex(({ offset }) => offset <= this.offsets.committable);
    if (done > 0) this.#fetches.splice(0, done);
    this.#fetches.push({ offset: first.offset, atMs: first.timestamp });
    if (this.#fetches.length > MOST_FETCHES) this.#fetches = this.#fetches.filter((_, i) => i % 2 === 0);
  }

  /**
   * Whether the log was cut off below offsets that were read here, or was made again: it ends before them, or holds other
   * records there. (An unclean change of leaders, a power cut, a topic that was deleted.)
   * @param highWatermark the log's end as of this fetch; a new leader's may be behind for a moment
   */
  isCut(records: readonly Stamped[], highWatermark: number): Cut | undefined {
    const { next } = this.offsets;
    const [first] = records;
    if (highWatermark < next) return 'ends_before';
    if (!first || first.offset >= next || this.newestAtMs === undefined) return undefined;
    const newest = this.newestAtMs;
    const other = records.some(({ offset, timestamp }) => offset >= this.start && offset < next && timestamp > newest);
    return other ? 'rewritten' : undefined;
  }

  /** How many offsets lie between what was read and these records. */
  gapBefore([first]: readonly FetchedRecord[]): number {
    return first ? Math.max(0, first.offset - this.offsets.next) : 0;
  }

  /** For metrics. */
  get place(): PlaceState {
    const { topic, number: partition, buffered } = this;
    const { committable, next } = this.offsets;
    const state = this.draining ? 'leaving' : buffered ? 'resting' : 'reading';
    // As old as the first of its fetch, which is the same to a tenth of a second where fetches are small.
    const open = committable < next ? this.#fetches.findLast(({ offset }) => offset <= committable)?.atMs : undefined;
    return { topic, partition, committable, oldestAtMs: open ?? buffered?.[0]?.timestamp, state };
  }

  /** Forgets what was refused. @returns whether there was any */
  discardBuffered(): boolean {
    const held = this.buffered !== undefined;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.buffered = undefined;
    return held;
  }

  drain(): void {
    this.draining = true;
    this.discardBuffered();
  }

  /** Its session may be lost: nothing more of it is begun, and what has not been begun can be given back without limit. */
  fence(): void {
    this.drain();
    this.#fenced = true;
  }

  /** It stays, or comes back, before it was let go. */
  reopen(): void {
    this.draining = false;
    this.#fenced = false;
  }

  /** Nothing of it is open, and all that is done is committed, above the offset too. */
  get drained(): boolean {
    const { open, committable, changes } = this.offsets;
    return open === 0 && this.committed === committable && this.#committedChanges === changes;
  }

  /** @returns false where the commit's metadata may not have room for one more that is not done */
  release(offset: number): boolean {
    if (!this.#fenced && this.offsets.released >= MOST_RELEASED) return false;
    this.offsets.release(offset);
    return true;
  }

  /**
   * What must be committed, or undefined where nothing has changed or only little a moment ago.
   * @param nowMs by `performance.now()`, which no change of the clock moves
   */
  commit(nowMs: number): Commit | undefined {
    const { committable, changes } = this.offsets;
    const moved = committable > this.committed;
    const idle = changes === this.#committedChanges && nowMs >= this.#insistsUntil;
    if (!moved && (idle || nowMs - this.#committedAt < RUNS_EVERY_MS)) return undefined;
    const metadata = encodeRuns(this.offsets.doneRuns());
    return (this.#sent = { partition: this, offset: committable, metadata, changes, atMs: nowMs });
  }

  acknowledged({ offset, metadata, changes, atMs }: Commit): void {
    this.committed = offset;
    this.#metadata = metadata;
    this.#committedChanges = changes;
    this.#committedAt = atMs;
  }
}

/** Where only what lies above the offset has changed, its runs are committed this often. */
const RUNS_EVERY_MS = 200;
/** Longer than kafkajs takes for the first fetches of an assignment. */
const INSISTS_MS = 3_000;
/** Each makes a run that is open and one that is done, of two bytes at most as a rule: what `encodeRuns` has room for. */
const MOST_RELEASED = 700;

/** Fetches behind a record that stays open. Beyond it every other one is forgotten, so that later ages are less exact. */
const MOST_FETCHES = 1_000;

type Stamped = Pick<FetchedRecord, 'offset' | 'timestamp'>;

export type Cut = 'ends_before' | 'rewritten';

/** How it stands with a partition, for who looks after it. */
export interface PlaceState {
  topic: string;
  partition: number;
  /** all before it are done */
  committable: number;
  /** when the oldest record that was read and is not done was appended, ms since 1970; undefined where there is none */
  oldestAtMs: number | undefined;
  /** `resting`: refused for the moment; `leaving`: about to be another's */
  state: 'reading' | 'resting' | 'leaving';
}

export interface Commit {
  partition: Partition;
  offset: number;
  metadata: string;
  changes: number;
  atMs: number;
}

/** A record as the handler sees it: what was fetched of it, and the partition that waits for its end. */
export class ConsumedRecord implements OpenRecord {
  readonly offset: number;
  #fetched: FetchedRecord | undefined;

  constructor(
    private readonly owner: Partition,
    fetched: FetchedRecord,
  ) {
    this.#fetched = fetched;
    this.offset = fetched.offset;
  }

  get topic(): string {
    return this.owner.topic;
  }
  get partition(): number {
    return this.owner.number;
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
    return this.owner.draining;
  }
  done(): void {
    this.owner.offsets.done(this.offset);
  }
  handBack(): boolean {
    return this.owner.release(this.offset);
  }
  defer(): void {
    this.owner.offsets.release(this.offset);
  }

  /** From now on only its end is of use: one that is open for long must not keep a whole fetch in memory. */
  letGo(): void {
    this.#fetched = undefined;
  }

  get #part(): FetchedRecord {
    if (!this.#fetched) throw new Error('a record is read after it was taken: copy what is needed of it');
    return this.#fetched;
  }
}
