import { type RecordName } from '../record-name';

/**
 * A position in a log names the record before it (record-name.ts says why).
 *
 * Whenever the log may have changed (a partition is adopted, the connection to its leader is new,
 * or the leader has another epoch), the next fetch begins one record earlier, at the last record
 * read, and compares it. So no record is taken before the comparison, in whatever order brokers and
 * processes come back.
 */

export class Position {
  #next: number;
  /** the newest record that was read; undefined: not known */
  #last: RecordName | undefined;
  /**
   * False after a cut: the record before the position was appended no later than `#last`, in no
   * later epoch. The first comparison finds its name.
   */
  #isExact = true;
  #isProven = false;
  /** id of the topic and epoch of the leader that were last asked */
  #topicId = '';
  #leaderEpoch = -1;
  /** true while a look-up finds where reading continues */
  #rests = false;
  #era: object = {};

  /**
   * @param next the first offset to read
   * @param last the newest record that was read, also by an earlier owner; it may lie behind
   *   `next`, if older records are read again
   */
  constructor(next: number, last?: RecordName) {
    this.#next = next;
    this.#last = last;
  }

  /**
   * Creates a position where a log goes on after it was cut.
   * @param last the newest record that was read, and cut off; undefined: not known
   */
  static afterCut(next: number, last: RecordName | undefined): Position {
    const position = new Position(next, last && { ...last, offset: next - 1 });
    position.#isExact = false;
    return position;
  }

  /** offset of the next record to read */
  get next(): number {
    return this.#next;
  }

  get last(): RecordName | undefined {
    return this.#last;
  }

  /**
   * True if the position can be committed with the name of a record, or there is none before it.
   */
  get isNamed(): boolean {
    return this.#isProven || (this.#isExact && this.#last !== undefined);
  }

  /** True once the log is known to hold the records that were read. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** True while nothing is fetched, because it is looked up where to go on. */
  get rests(): boolean {
    return this.#rests;
  }

  /** where the next fetch begins */
  get fetchFrom(): number {
    if (this.#isProven) return this.#next;
    return Math.max(0, this.#last?.offset ?? this.#next - 1);
  }

  /** True if the next fetch begins at a record that was read: it must be there. */
  get expectsRecord(): boolean {
    return !this.#isProven && (this.#last?.offset ?? this.#next - 1) >= 0;
  }

  /** the least end of a log that holds what was read of it */
  get leastEnd(): number {
    return this.expectsRecord ? this.fetchFrom + 1 : this.fetchFrom;
  }

  /** Returns how many offsets were read and cut off a log that ends there, one at least. */
  cutOff(end: number): number {
    return Math.max(1, this.#next - end, (this.#last?.offset ?? -1) + 1 - end);
  }

  /** Notes whom the next fetch asks: a new topic or epoch means that the log may have changed. */
  askFrom(leader: { topicId: string; epoch: number }): void {
    if (this.asks(leader)) return;
    this.#topicId = leader.topicId;
    this.#leaderEpoch = leader.epoch;
    this.doubt();
  }

  /** Returns whether `askFrom` was last called with this leader. */
  asks({ topicId, epoch }: { topicId: string; epoch: number }): boolean {
    return topicId === this.#topicId && epoch === this.#leaderEpoch;
  }

  /** Lets the next fetch compare the last record, because the log may have changed. */
  doubt(): void {
    this.#isProven = false;
    this.#era = {};
  }

  /** Another object after each doubt: what was known of the end of the log is of an earlier era. */
  get era(): object {
    return this.#era;
  }

  /** id of the topic that it was last asked of; empty before the first fetch */
  get topicId(): string {
    return this.#topicId;
  }

  /** Fetches nothing until `goOn`. */
  rest(): void {
    this.#rests = true;
  }

  goOn(): void {
    this.#rests = false;
  }

  /** Goes back to older records. */
  goBack(offset: number): void {
    this.#next = offset;
  }

  /** Goes on at the start of the log, behind records that retention has deleted. */
  skipTo(logStart: number): void {
    this.#next = Math.max(this.#next, logStart);
    // The record to compare is gone, and so is every older one.
    if ((this.#last?.offset ?? this.#next - 1) < logStart) this.#isProven = true;
  }

  /**
   * Compares the first record of a fetch that began at `fetchFrom`; undefined if compaction has
   * removed it.
   * @returns false if the log holds another record in place of the last one that was read
   */
  compare(found: RecordName | undefined): boolean {
    const last = this.#last;
    const isRead = found !== undefined && found.offset <= (last?.offset ?? this.#next - 1);
    if (isRead) {
      if (last && !this.#isSame(last, found)) return false;
      this.#last = nameOf(found);
    } else if (!this.#isExact) {
      this.#last = undefined;
    }
    this.#isExact = true;
    this.#isProven = true;
    return true;
  }

  #isSame(last: RecordName, found: RecordName): boolean {
    return this.#isExact
      ? found.epoch === last.epoch && found.timestamp === last.timestamp
      : found.epoch <= last.epoch && found.timestamp <= last.timestamp;
  }

  /** Notes that records were read. @param next offset behind them */
  read(newest: RecordName | undefined, next: number): void {
    if (newest && newest.offset > (this.#last?.offset ?? -1)) this.#last = nameOf(newest);
    this.#next = Math.max(this.#next, next);
  }
}

/** The name must not keep the buffer of a record. */
function nameOf({ offset, epoch, timestamp }: RecordName): RecordName {
  return { offset, epoch, timestamp };
}
