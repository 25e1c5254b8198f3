import { type OpenRecord, type DispatchResult } from '../../../shared/kafka/port';
import { Backpressure } from '../../../shared/runtime/load-limits';
import { type Log } from '../../../shared/telemetry/log';
import { decodeEvent, type Incoming } from '../repartition/event';

/** An accepted event, and the record to complete. */
export interface Queued {
  incoming: Incoming;
  record: OpenRecord;
  /** when its record was appended, ms since 1970 */
  atMs: number;
}

export interface EventQueueOptions {
  /** accepted by the previous owner and not written when the session was lost */
  inherited: readonly Queued[];
  log: Log;
  /** refused records may be offered again */
  onRoom: () => void;
}

const MAX_QUEUE = 2_000;

/**
 * Holds the events that a partition has accepted and not yet written, in order and up to a limit.
 */
export class EventQueue {
  /** behind the last record that was accepted */
  next = 0;
  readonly #queue: Queued[];
  readonly #room: Backpressure;

  constructor(private readonly options: EventQueueOptions) {
    this.#queue = [...options.inherited];
    this.#room = new Backpressure(() => this.#queue.length / MAX_QUEUE, options.onRoom);
  }

  get length(): number {
    return this.#queue.length;
  }

  get all(): readonly Queued[] {
    return this.#queue;
  }

  /** Accepts a record, unless the queue is full. */
  offer(record: OpenRecord): DispatchResult {
    if (!this.#room.accepts()) return 'busy';
    this.next = record.offset + 1;
    const incoming = decodeEvent(record);
    if (incoming) this.#queue.push({ incoming, record, atMs: record.timestampMs });
    else this.#skip(record);
    return 'accepted';
  }

  /** Completes records that are written: the oldest, unless the log was cut meanwhile. */
  done(written: readonly Queued[]): void {
    for (const each of written) {
      each.record.done();
      if (this.#queue[0] === each) this.#queue.shift();
    }
    this.#room.resumeAtHalf();
  }

  /** Drops the records from an offset on: the log no longer holds them, or they come again. */
  dropFrom(offset: number): void {
    const first = this.#queue.findIndex(({ record }) => record.offset >= offset);
    if (first >= 0) this.#queue.splice(first);
    this.next = Math.min(this.next, offset);
    this.#room.resumeAtHalf();
  }

  #skip(record: OpenRecord): void {
    this.options.log.warn(
      { partition: record.partition, offset: record.offset },
      'profile_event.skipped',
    );
    record.done();
  }
}
