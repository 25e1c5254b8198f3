import { type OpenRecord } from '../../../shared/kafka/port';

/**
 * The records that wait to be written. A record may have hundreds of events. The batch reads them:
 * as objects they would take more memory than the record, and the collector would copy them for as
 * long as they wait.
 */

/** One transaction for each batch: many small transactions cost more than the rows in them. */
const MAX_BATCH = 2_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MAX_QUEUED = 6_000;
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;

export interface Queued {
  /** about the number of its events */
  events: number;
  bytes: number;
  record: OpenRecord;
  /** copied, because a record can be asked only while it is offered */
  topic: string;
  partition: number;
  offset: number;
  /** when it was appended, ms since 1970 */
  atMs: number;
}

/** The events of a record, to be read later. */
export interface Parsing<E> {
  /** about their number */
  count: number;
  /** Returns the events; undefined in place of each that cannot be used. */
  events: () => (E | undefined)[];
}

export class EventQueue<Q extends Queued> {
  #records: Q[] = [];
  #events = 0;
  #bytes = 0;

  /** 0 to 1, and a little more. */
  get fill(): number {
    return Math.max(this.#events / MAX_QUEUED, this.#bytes / MAX_QUEUED_BYTES);
  }

  get first(): Q | undefined {
    return this.#records[0];
  }

  /** True if there is enough for a whole batch. */
  get hasBatch(): boolean {
    return this.#events >= MAX_BATCH || this.#bytes >= MAX_BATCH_BYTES;
  }

  push(queued: Q): void {
    this.#records.push(queued);
    this.#events += queued.events;
    this.#bytes += queued.bytes;
  }

  /** Returns the first records that fit into a batch, at least one. They stay in the queue. */
  batch(): Q[] {
    let bytes = 0;
    let events = 0;
    const end = this.#records.findIndex((queued, i) => {
      bytes += queued.bytes;
      events += queued.events;
      return i > 0 && (events > MAX_BATCH || bytes > MAX_BATCH_BYTES);
    });
    return end < 0 ? [...this.#records] : this.#records.slice(0, end);
  }

  /** Removes a batch from the front. */
  remove(batch: readonly Q[]): void {
    this.#records = this.#records.slice(batch.length);
    this.#events -= countOf(batch);
    for (const { bytes } of batch) this.#bytes -= bytes;
  }
}

export function countOf(batch: readonly Queued[]): number {
  return batch.reduce((sum, { events }) => sum + events, 0);
}
