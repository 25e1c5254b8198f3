import { type EachBatchPayload } from 'kafkajs';
import { type Log } from '../../telemetry/log';
import { brokerClock } from '../broker-clock';
import { fetchedRecords } from '../client/patches';
import { type ConsumerMeter, type Missed } from '../metrics';
import { COMPACTED } from '../topics';
import { type AssignedPartitions } from './assigned-partitions';
import { idOf, Partition, ConsumedRecord } from './partition';
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
  command: (what: 'pause' | 'resume', partition: Partition) => void;
  stopping: () => boolean;
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
 * Offers the messages of a partition to the handler, in order. A refused message is buffered with
 * those behind it, and the partition pauses. They are offered again after the time that the handler
 * named, or when it has room. Messages beyond the time budget of a turn are buffered in the same
 * way until the next turn, which takes partition after partition.
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

  /**
   * Offers messages until one is refused. That one and the rest are buffered, and the partition
   * pauses.
   */
  dispatch(partition: Partition, messages: readonly FetchedRecord[]): void {
    if (this.#isFull(partition, messages[0])) {
      this.#keep(partition, messages);
      this.#againIn(partition, FULL_AGAIN_MS);
      return;
    }
    const until = this.#turn();
    for (const [i, message] of messages.entries()) {
      if (this.#now() >= until) {
        this.#keep(partition, messages.slice(i));
        this.#late.add(partition);
        return;
      }
      const result = this.#offer(partition, message);
      if (result === 'accepted') continue;
      this.#keep(partition, messages.slice(i));
      if (result === 'busy') return;
      this.#againIn(partition, result.againInMs);
      return;
    }
  }

  dispatchBuffered(partition: Partition): void {
    const { buffered } = partition;
    if (!buffered || this.options.stopping()) return;
    partition.buffered = undefined;
    this.dispatch(partition, buffered);
    if (!partition.waits) this.options.command('resume', partition);
  }

  #offer(partition: Partition, message: FetchedRecord): DispatchResult {
    const record = new ConsumedRecord(partition, message);
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

  #keep(partition: Partition, rest: readonly FetchedRecord[]): void {
    partition.buffered = rest;
    this.options.command('pause', partition);
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

/** Dispatches fetched batches, and notices records that no longer exist. */
export class BatchHandler {
  constructor(
    private readonly parts: {
      prefix: string;
      group: string;
      owned: AssignedPartitions;
      dispatcher: Dispatcher;
      meter: ConsumerMeter;
      stopping: () => boolean;
      log: Log;
    },
  ) {}

  /** Dispatches a batch that kafkajs has fetched. */
  handle(payload: EachBatchPayload): void {
    const { batch } = payload;
    const first = batch.messages[0];
    const id = idOf({ topic: batch.topic, number: batch.partition });
    if (this.parts.stopping() || !first || !payload.isRunning() || payload.isStale()) return;
    // A batch may be fetched before a round and handled after it.
    if (!this.parts.owned.isOpen(id)) return;
    const { partitions } = this.parts.owned;
    let partition = partitions.get(id);
    if (!partition) {
      partition = new Partition(
        batch.topic.slice(this.parts.prefix.length),
        batch.partition,
        Number(first.offset),
      );
      partitions.set(id, partition);
    }
    if (partition.draining || partition.waits) return;
    const records = fetchedRecords(batch);
    brokerClock.read(records.at(-1)?.timestamp ?? 0);
    const cut = partition.isCut(records, Number(batch.highWatermark));
    if (cut) {
      void this.parts.owned.beginAgain(id, partition, cut);
      return;
    }
    const gap = COMPACTED.has(partition.topic) ? 0 : partition.gapBefore(records);
    if (gap > 0) this.missed(partition, 'retention', gap);
    this.parts.meter.read(partition, records);
    this.parts.dispatcher.dispatch(partition, records);
    // Refused records are buffered here, so kafkajs need not fetch them again.
    payload.resolveOffset(batch.lastOffset());
  }

  /** Logs and counts offsets that no longer exist. */
  missed(
    { topic, number: partition }: Pick<Partition, 'topic' | 'number'>,
    reason: Missed,
    offsets: number,
  ): void {
    const about = { group: this.parts.group, topic, partition, offsets };
    this.parts.log.error(
      about,
      reason === 'retention' ? 'consumer.records_expired' : 'consumer.log_truncated',
    );
    this.parts.meter.missed(topic, reason, offsets);
  }
}
