import { type Partition, ConsumedRecord } from './partition';
import { type FetchedRecord } from '../protocol/batch';
import { type OpenRecord, type DispatchResult } from '../port';

/**
 * Time budget for dispatching records in one turn of the event loop, ms. A fetch of a megabyte can
 * start a thousand requests, which takes a tenth of a second. Responses that arrive during that
 * time must not wait for all of it.
 */
const TURN_MS = 5;
/** A partition that is full of deferred records looks again this often. */
const FULL_AGAIN_MS = 1_000;

export interface DispatcherOptions {
  onRecord: (record: OpenRecord) => DispatchResult;
  /** called when a partition has no buffered records any more, and can be fetched again */
  onResumed: () => void;
  /** returns whether buffered records may be started */
  mayStart: () => boolean;
  /**
   * called once when a partition stops, because a deferred record is too far behind
   * (`OffsetTracker.isFull`)
   */
  onFull: (partition: Partition) => void;
  /** a clock in ms, which measures the turn; default: `performance.now()` */
  now?: () => number;
  /**
   * calls back in the next turn of the event loop, after pending input was handled; default:
   * `setImmediate`
   */
  soon?: (callback: () => void) => void;
}

/**
 * Offers the records of a partition to the handler, in order. A refused record is buffered with
 * those behind it, and nothing of the partition is fetched. They are offered again after the time
 * that the handler named, or when it has room. Records beyond the time budget of a turn are
 * buffered in the same way until the next turn, which takes partition after partition.
 */
export class Dispatcher {
  readonly #now: () => number;
  readonly #soon: (callback: () => void) => void;
  /** partitions that continue in the next turn */
  readonly #late = new Set<Partition>();
  /** when the current turn ends; undefined before the first call of a turn */
  #until: number | undefined;

  constructor(private readonly options: DispatcherOptions) {
    this.#now = options.now ?? (() => performance.now());
    this.#soon = options.soon ?? setImmediate;
  }

  /** Offers records until one is refused. That one and the rest are buffered. */
  dispatch(partition: Partition, records: readonly FetchedRecord[]): void {
    if (this.#isFull(partition, records[0])) {
      partition.buffered = records;
      this.#againIn(partition, FULL_AGAIN_MS);
      return;
    }
    const until = this.#turn();
    let i = 0;
    for (const fetched of records) {
      if (this.#now() >= until) {
        partition.buffered = records.slice(i);
        this.#late.add(partition);
        return;
      }
      const result = this.#offer(partition, fetched);
      if (result === 'accepted') {
        i++;
        continue;
      }
      partition.buffered = records.slice(i);
      if (result === 'busy') return;
      this.#againIn(partition, result.againInMs);
      return;
    }
  }

  dispatchBuffered(partition: Partition): void {
    const { buffered } = partition;
    if (!buffered || !this.options.mayStart()) return;
    partition.buffered = undefined;
    this.dispatch(partition, buffered);
    if (!partition.waits) this.options.onResumed();
  }

  #offer(partition: Partition, fetched: FetchedRecord): DispatchResult {
    const record = new ConsumedRecord(partition, fetched);
    if (!partition.offsets.take(record.offset)) return 'accepted';
    const result = this.options.onRecord(record);
    if (result === 'accepted') record.letGo();
    else partition.offsets.unread(record.offset);
    return result;
  }

  /**
   * Returns whether the partition takes no new records. Deferred ones, which are read again, are
   * taken.
   */
  #isFull(partition: Partition, first: FetchedRecord | undefined): boolean {
    const { offsets } = partition;
    if (!first || first.offset < offsets.next) return false;
    if (partition.full !== offsets.isFull) {
      partition.full = offsets.isFull;
      if (partition.full) this.options.onFull(partition);
    }
    return partition.full;
  }

  #againIn(partition: Partition, ms: number): void {
    partition.timer = setTimeout(() => {
      partition.timer = undefined;
      this.dispatchBuffered(partition);
    }, ms);
  }

  /** @returns when the current turn ends; the first call of a turn starts it */
  #turn(): number {
    if (this.#until !== undefined) return this.#until;
    this.#until = this.#now() + TURN_MS;
    this.#soon(() => {
      this.#until = undefined;
      const late = [...this.#late];
      this.#late.clear();
      for (const partition of late) this.dispatchBuffered(partition);
    });
    return this.#until;
  }
}
