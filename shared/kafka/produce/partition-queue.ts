import { type OutRecord } from '../port';
import { Backoff, type ProduceError } from './errors';
import { type PendingSend } from './pending-sends';
import { NO_NODE } from '../protocol/metadata-request';

/**
 * Holds the records that wait for one partition, and those in flight. At most one request holds
 * records of a partition, and records that it failed to write return to the head, so that their
 * order never changes.
 */

/** A record that was passed to the producer. */
export interface QueuedRecord {
  readonly record: OutRecord;
  readonly bytes: number;
  readonly ticket: PendingSend;
  /** An attempt with unknown result may have written it, so that it stays in its partition. */
  unsure: boolean;
}

/**
 * A failing partition shares its requests with others of its leader, and the broker may wait 9 s
 * for the followers of any.
 */
const SLOW_MS = 1_000;

export class PartitionQueue {
  /** the leading broker; NO_NODE if unknown */
  leader = NO_NODE;
  /** size of all records, waiting and in flight */
  bytes = 0;
  readonly backoff = new Backoff();
  #waiting: QueuedRecord[] = [];
  #sending: QueuedRecord[] = [];
  /** when the request started */
  #sentAt = 0;
  /** number of records at the head among which the broker refuses one */
  #suspects = 0;
  /** limit of suspects in a request: half of the refused ones */
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

  /** Returns whether the partition has failed, and its retry has been in flight for a second. */
  isSlow(now: number): boolean {
    return this.backoff.error !== undefined && this.isSending && now - this.#sentAt > SLOW_MS;
  }

  push(item: QueuedRecord): void {
    this.bytes += item.bytes;
    this.#waiting.push(item);
  }

  /**
   * Takes records from the head for a request.
   * @param room at least one record is taken if the request is `empty`
   */
  take(room: { bytes: number; records: number; empty: boolean }, now: number): QueuedRecord[] {
    const most =
      this.#suspects > 0 ? Math.min(this.#most, this.#suspects, room.records) : room.records;
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

  /** Removes and returns the records of the request, which are written. */
  acknowledged(): QueuedRecord[] {
    const written = this.#endRequest();
    this.#suspects = Math.max(0, this.#suspects - written.length);
    this.#forget(written);
    this.backoff.succeeded();
    return written;
  }

  /** Puts the records of the request back: it was never written. */
  notSent(): void {
    this.#putBack(false);
  }

  /**
   * Puts the records of the request back: they are not known to be written, or no request can be
   * made.
   */
  failed(error: ProduceError, now: number): void {
    const startedAt = this.isSending ? this.#sentAt : now;
    this.#putBack(error.fate === 'unsure');
    this.backoff.failed(error, startedAt, now);
  }

  /**
   * Handles a request in which the broker refuses one record, or all of them as too large together.
   * @returns the record, if it was the only one; otherwise undefined, and the next request sends
   *   half of them
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

  /** Removes and returns the waiting records that fulfil a condition. */
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

export function isSettled({ ticket }: QueuedRecord): boolean {
  return ticket.settled;
}

export function placeOf({ topic, partition }: PartitionQueue): string {
  return `partition ${String(partition)} of ${topic}`;
}
