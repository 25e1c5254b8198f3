import { partitionOf } from '../../shared/kafka/protocol/bytes';
import { type OpenRecord, type OutRecord, type DispatchResult } from '../../shared/kafka/port';

/**
 * The partitions of a cluster, as far as a simulation needs them: records in order, read by one
 * consumer each, with the dispatch results of `Consumption`. A partition moves as the consumer
 * moves it: its owner finishes or hands back what it holds, and then the next one reads on. It is
 * not a Kafka: it never fails, and drops finished records.
 */

interface Stored {
  key: string | null;
  headers: Record<string, string>;
  offset: number;
  timestampMs: number;
  /** it was cut off, perhaps while somebody holds it */
  isGone: boolean;
}

export class PartitionLog {
  readonly #records: Stored[] = [];
  #head = 0;
  #next = 0;
  /** handed back by the last owner, in order */
  #returned: Stored[] = [];
  #open = 0;
  /** called after an append */
  onAppend: () => void = () => undefined;
  /** called with a record that nobody will read any more, because it was cut off */
  onLost: (record: OpenRecord) => void = () => undefined;
  /** true while its owner gives it up */
  leaving = false;
  /** the last result said `busy`, or a time to read again (ms since 1970) */
  #waits: 'busy' | number | undefined;

  constructor(
    readonly topic: string,
    readonly number: number,
    /** every value has these bytes: bodies do not matter here, and copies would cost memory */
    private readonly value: Buffer,
  ) {}

  /** Number of records that nobody holds. */
  get size(): number {
    return this.#returned.length + this.#records.length - this.#head;
  }

  /** Number of records that its owner holds. */
  get open(): number {
    return this.#open;
  }

  /** The first offset that nobody has read. */
  get position(): number {
    return this.bounds.low + this.#head;
  }

  /** Returns the offsets of the records that are still there. */
  get bounds(): { low: number; high: number } {
    return { low: this.#next - this.#records.length, high: this.#next };
  }

  /** Reads up to this many records from an offset on, without taking them. */
  peek(from: number, most: number): OpenRecord[] {
    const start = Math.max(0, from - this.bounds.low);
    return this.#records.slice(start, start + most).map((stored) => this.#opened(stored));
  }

  append({ key, headers }: Pick<OutRecord, 'key' | 'headers'>, timestampMs: number): void {
    this.#records.push({
      key,
      headers: headers ?? {},
      offset: this.#next++,
      timestampMs,
      isGone: false,
    });
    this.onAppend();
  }

  /**
   * Cuts the newest records off, read or not, as a power cut does. Reading goes on at the new end.
   * @returns the offset of the next record
   */
  cut(most: number): number {
    const handedBack = new Set(this.#returned);
    const gone = this.#records.splice(Math.max(0, this.#records.length - most));
    const unreadFrom = this.#head - this.#records.length;
    const unheld = gone.filter((each, i) => i >= unreadFrom || handedBack.has(each));
    this.#next -= gone.length;
    this.#head = Math.min(this.#head, this.#records.length);
    // Its first record is offered at once.
    if (typeof this.#waits === 'number') this.#waits = undefined;
    this.#returned = this.#returned.filter(({ offset }) => offset < this.#next);
    for (const stored of gone) stored.isGone = true;
    for (const stored of unheld) this.onLost(this.#opened(stored));
    return this.#next;
  }

  /** Goes to another owner, which reads on. */
  handOver(): void {
    this.leaving = false;
    this.#waits = undefined;
    this.#returned.sort((a, b) => a.offset - b.offset);
  }

  /**
   * There is room again.
   * @returns whether it waited for room
   */
  resume(): boolean {
    const waited = this.#waits === 'busy';
    if (waited) this.#waits = undefined;
    return waited;
  }

  /**
   * Offers its records until one is refused.
   * @returns when to read again, ms since 1970, if a result said so
   */
  offer(onRecord: (record: OpenRecord) => DispatchResult, nowMs: number): number | undefined {
    if (typeof this.#waits === 'number' && this.#waits <= nowMs) this.#waits = undefined;
    while (this.#waits === undefined && !this.leaving) {
      const stored = this.#returned[0] ?? this.#records[this.#head];
      if (!stored) break;
      this.#open++;
      const verdict = onRecord(this.#opened(stored));
      if (verdict === 'accepted') this.#drop(stored);
      else {
        this.#open--;
        this.#waits = verdict === 'busy' ? 'busy' : nowMs + verdict.againInMs;
      }
    }
    return typeof this.#waits === 'number' ? this.#waits : undefined;
  }

  #drop(stored: Stored): void {
    if (this.#returned[0] === stored) {
      this.#returned.shift();
      return;
    }
    this.#head++;
    if (this.#head < 1_024 || this.#head * 2 < this.#records.length) return;
    this.#records.splice(0, this.#head);
    this.#head = 0;
  }

  #opened(stored: Stored): OpenRecord {
    return new LogRecord(this, stored, this.value);
  }

  /** @param handedBack the record, which the next owner reads; absent: it is done */
  finished(handedBack?: Stored): void {
    this.#open--;
    if (handedBack?.isGone) this.onLost(this.#opened(handedBack));
    else if (handedBack) this.#returned.push(handedBack);
  }
}

class LogRecord implements OpenRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly epoch = 0;
  readonly isInDoubt = false;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly headers: Record<string, string>;

  constructor(
    private readonly log: PartitionLog,
    private readonly stored: Stored,
    readonly value: Buffer,
  ) {
    this.topic = log.topic;
    this.partition = log.number;
    this.offset = stored.offset;
    this.timestampMs = stored.timestampMs;
    this.key = stored.key === null ? null : Buffer.from(stored.key);
    this.headers = stored.headers;
  }

  get isRevoking(): boolean {
    return this.log.leaving;
  }

  done(): void {
    this.log.finished();
  }

  handBack(): boolean {
    this.log.finished(this.stored);
    return true;
  }

  defer(): void {
    throw new Error('delivery and retry defer no record');
  }
}

/** Returns the partition of a key as Kafka's producers do; cached, because there are few keys. */
export function partitioner(partitions: number): (key: string) => number {
  const known = new Map<string, number>();
  return (key) => {
    let partition = known.get(key);
    if (partition === undefined) {
      partition = partitionOf(key, partitions);
      known.set(key, partition);
    }
    return partition;
  };
}
