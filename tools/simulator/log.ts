import { partitionOf } from '../../shared/kafka/protocol/bytes';
import { type OpenRecord, type OutRecord, type DispatchResult } from '../../shared/kafka/port';

/**
 * The partitions of a cluster, as far as a simulation needs them: records in order, read by one
 * consumer each, with the dispatch results of `Consumption`. It is not a Kafka: it never fails,
 * moves no partition, and drops finished records.
 */

interface Stored {
  key: string | null;
  headers: Record<string, string>;
  offset: number;
  timestampMs: number;
}

export class PartitionLog {
  readonly #records: Stored[] = [];
  #head = 0;
  #next = 0;
  /** the last result said `busy`, or a time to read again (ms since 1970) */
  #waits: 'busy' | number | undefined;

  constructor(
    readonly topic: string,
    readonly number: number,
    /** every value has these bytes: bodies do not matter here, and copies would cost memory */
    private readonly value: Buffer,
  ) {}

  get size(): number {
    return this.#records.length - this.#head;
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
    this.#records.push({ key, headers: headers ?? {}, offset: this.#next++, timestampMs });
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
  read(onRecord: (record: OpenRecord) => DispatchResult, nowMs: number): number | undefined {
    if (typeof this.#waits === 'number' && this.#waits <= nowMs) this.#waits = undefined;
    while (this.#waits === undefined) {
      const stored = this.#records[this.#head];
      if (!stored) break;
      const verdict = onRecord(this.#opened(stored));
      if (verdict === 'accepted') this.#drop();
      else this.#waits = verdict === 'busy' ? 'busy' : nowMs + verdict.againInMs;
    }
    return typeof this.#waits === 'number' ? this.#waits : undefined;
  }

  #drop(): void {
    this.#head++;
    if (this.#head < 1_024 || this.#head * 2 < this.#records.length) return;
    this.#records.splice(0, this.#head);
    this.#head = 0;
  }

  #opened({ key, headers, offset, timestampMs }: Stored): OpenRecord {
    const { topic, number: partition, value } = this;
    return {
      topic,
      partition,
      offset,
      timestampMs,
      key: key === null ? null : Buffer.from(key),
      value,
      headers,
      done: nothing,
      isRevoking: false,
      handBack: never,
      defer: never,
    };
  }
}

const nothing = () => undefined;
const never = () => false;

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
