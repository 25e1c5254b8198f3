import { type OpenRecord, type DispatchResult } from '../../../shared/kafka/port';
import { type Log } from '../../../shared/telemetry/log';
import { decodeEvent, type Incoming } from '../repartition/event';

/** An event that was taken, and the record to be done with. */
export interface Queued {
  incoming: Incoming;
  record: OpenRecord;
}

export interface EventQueueOptions {
  /** what one before this had taken when the session was lost, and had not written */
  inherited: readonly Queued[];
  log: Log;
  /** what was refused may be offered again */
  onRoom: () => void;
}

const MAX_QUEUE = 2_000;

/** What a partition's keeper has taken and not yet written, in order, and no more than so much of it. */
export class EventQueue {
  readonly #queue: Queued[];
  #refused = false;

  constructor(private readonly options: EventQueueOptions) {
    this.#queue = [...options.inherited];
  }

  get length(): number {
    return this.#queue.length;
  }

  get all(): readonly Queued[] {
    return this.#queue;
  }

  /** Takes a record, unless too many wait. */
  offer(record: OpenRecord): DispatchResult {
    if (this.#queue.length >= MAX_QUEUE) {
      this.#refused = true;
      return 'busy';
    }
    const incoming = decodeEvent(record);
    if (incoming) this.#queue.push({ incoming, record });
    else this.#skip(record);
    return 'accepted';
  }

  /** The oldest so many are written. */
  done(count: number): void {
    for (const { record } of this.#queue.splice(0, count)) record.done();
    if (!this.#refused || this.#queue.length >= MAX_QUEUE / 2) return;
    this.#refused = false;
    this.options.onRoom();
  }

  #skip(record: OpenRecord): void {
    this.options.log.warn({ partition: record.partition, offset: record.offset }, 'profile_event.skipped');
    record.done();
  }
}
