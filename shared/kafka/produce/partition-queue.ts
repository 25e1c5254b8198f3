import { type OutRecord } from '../port';
import { Backoff } from './backoff';
import { type ProduceError } from './errors';
import { NO_NODE } from './request-sender';

/**
 * The records that wait for one partition, and those of them that are in a request. At most one request holds records of
 * a partition, and records that it failed to write return to the head: their order never changes.
 */

/** A record that was given to the appender. */
export interface QueuedRecord {
  readonly record: OutRecord;
  readonly bytes: number;
  readonly ticket: Ticket;
  /** An attempt whose end is not known may have written it: it stays in its partition. */
  unsure: boolean;
}

/** One `append` in progress. */
export interface Ticket {
  /** records that are not acknowledged */
  left: number;
  settled: boolean;
}

/** A failing partition shares its requests with others of its leader, and the broker may wait 9 s for the followers of one. */
const SLOW_MS = 1_000;

export class PartitionQueue {
  /** the broker that leads it; NO_NODE where that is not known */
  leader = NO_NODE;
  /** waiting or in a request */
  bytes = 0;
  readonly backoff = new Backoff();
  #waiting: QueuedRecord[] = [];
  #sending: QueuedRecord[] = [];
  /** when the request was begun */
  #sentAt = 0;
  /** So many records at the head are searched for one that the broker refuses. */
  #suspects = 0;
  /** of them in a request, at most: half of those that it refused */
  #most = 0;

  constructor(
    readonly topic: string,
    readonly partition: number,
  ) {}

  get waiting(): number {
    return this.#waiting.length;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#sending.length === 0;
  }

  get isSending(): boolean {
    return this.#sending.length > 0;
  }

  /** Whether it has failed, and the request that tries it again has been under way for a second. */
  isSlow(now: number): boolean {
    return this.backoff.error !== undefined && this.isSending && now - this.#sentAt > SLOW_MS;
  }

  push(item: QueuedRecord): void {
    this.bytes += item.bytes;
    this.#waiting.push(item);
  }

  /**
   * Takes records from the head for a request.
   * @param room at least one record is taken where it is `empty`
   */
  take(room: { bytes: number; records: number; empty: boolean }, now: number): QueuedRecord[] {
    const most = this.#suspects > 0 ? Math.min(this.#most, this.#suspects, room.records) : room.records;
    let { bytes } = room;
    let count = 0;
    for (const item of this.#waiting) {
      bytes -= item.bytes;
      if (count === most || (bytes < 0 && !(room.empty && count === 0))) break;
      count++;
    }
    if (count === this.#waiting.length) {
      this.#sending = this.#waiting;
      this.#waiting = [];
    } else {
      this.#sending = this.#waiting.splice(0, count);
    }
    this.#sentAt = now;
    return this.#sending;
  }

  /** All that was in the request is written. */
  acknowledged(): QueuedRecord[] {
    const written = this.#endRequest();
    this.#suspects = Math.max(0, this.#suspects - written.length);
    this.#forget(written);
    this.backoff.succeeded();
    return written;
  }

  /** Nothing that was in the request is known to be written, or no request can be made. */
  failed(error: ProduceError, now: number): void {
    const startedAt = this.isSending ? this.#sentAt : now;
    this.#putBack(error.fate === 'unsure');
    this.backoff.failed(error, startedAt, now);
  }

  /**
   * The broker refuses one of the records in the request, or all of them as too large together.
   * @returns that record; undefined where there were several: they are sent again, half as many at once
   */
  refused(): QueuedRecord | undefined {
    this.backoff.succeeded();
    if (this.#sending.length > 1) {
      this.#suspects = Math.max(this.#suspects, this.#sending.length);
      this.#most = Math.ceil(this.#sending.length / 2);
      this.#putBack(false);
      return undefined;
    }
    const items = this.#endRequest();
    this.#suspects = Math.max(0, this.#suspects - 1);
    this.#most = this.#suspects;
    this.#forget(items);
    return items[0];
  }

  /** Takes out those that wait and fulfil a condition. */
  withdraw(wanted: (item: QueuedRecord) => boolean): QueuedRecord[] {
    const withdrawn = this.#waiting.filter(wanted);
    if (withdrawn.length === 0) return withdrawn;
    this.#waiting = this.#waiting.filter((item) => !wanted(item));
    this.#forget(withdrawn);
    return withdrawn;
  }

  #endRequest(): QueuedRecord[] {
    const items = this.#sending;
    this.#sending = [];
    return items;
  }

  #putBack(unsure: boolean): void {
    const items = this.#endRequest();
    if (unsure) for (const item of items) item.unsure = true;
    if (items.length > 0) this.#waiting = items.concat(this.#waiting);
  }

  #forget(items: readonly QueuedRecord[]): void {
    for (const { bytes } of items) this.bytes -= bytes;
  }
}
