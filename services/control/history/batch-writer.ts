import { backoff, sleep } from '../../../shared/service/async';
import { Backpressure } from '../../../shared/service/load-limits';
import { messageOf } from '../../../shared/service/errors';
import { type OpenRecord, type DispatchResult } from '../../../shared/kafka/port';
import { type Log } from '../../../shared/telemetry/log';
import { type DatabaseFault } from './database';

/**
 * Writes the records of a topic to the database in batches.
 *
 * Invariant: a record is done only when its event is committed there: row first, offset afterwards. While the
 * database is away the queue is full, the partitions pause, and new records wait in Kafka.
 */

/** One transaction for each batch: many small transactions cost more than the rows in them. */
const MAX_BATCH = 2_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/**
 * The next batch gathers while one is written, and then for this time: a short time in an idle system, longer in a busy
 * one, since a batch costs as much as a few hundred events, and no person reads hundreds of events a second.
 */
const GATHER_MS = 100;
const GATHER_BUSY_MS = 1_000;
const BUSY_BATCH = 50;
const MAX_QUEUED = 6_000;
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/**
 * If whole batches gather quickly and other processes need all cores, the history waits for them, since no person reads
 * thousands of events a second. This limits the age of the oldest event.
 */
const BEHIND_MS = 60_000;
const LOOK_EVERY_MS = 500;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/**
 * A batch that fails with an unknown fault is halved after this many tries: six seconds, with the pauses between. A
 * half is retried once immediately, because by then a partition that another process ended has been read again.
 */
const UNKNOWN_TRIES = 6;
const HALF_TRIES = 2;

interface Queued<E> {
  event: E;
  bytes: number;
  record: OpenRecord;
  /** copied, because a record can be asked only while it is offered */
  topic: string;
  partition: number;
  offset: number;
  /** when it was appended, ms since 1970 */
  atMs: number;
}

export interface BatchWriterOptions<E> {
  /** Returns the event of a record, `skip` if it has none, or undefined if the record cannot be used. */
  parse(record: OpenRecord): E | 'skip' | undefined;
  /**
   * @param events empty to test whether the database takes writes
   * @throws the error of the database; then nothing of the batch is written
   */
  write(events: E[]): Promise<void>;
  /** Classifies an error of `write`. */
  faultOf(error: unknown): DatabaseFault;
  /** Returns whether other processes need all cores of this machine. */
  othersFirst(): boolean;
  now(): number;
  /** Waits before a batch that failed is tried again, ms. */
  pause?: (ms: number) => Promise<void>;
  /** Called when there is room again after `busy`. */
  onRoom: () => void;
  log: Log;
}

export class BatchWriter<E extends object> {
  #queue: Queued<E>[] = [];
  #bytes = 0;
  readonly #room: Backpressure;
  #running: Promise<void> | undefined;
  #stopping = false;
  /** true once no more records come */
  #hurrying = false;
  /** ends the gathering, because a whole batch is queued */
  #enough: () => void = () => undefined;
  /** why the last batch could not be written */
  #trouble: string | undefined;
  /** consecutive unknown faults of the first batch */
  #unknown = 0;
  #leftOut = 0;

  constructor(private readonly options: BatchWriterOptions<E>) {
    const fill = () => Math.max(this.#queue.length / MAX_QUEUED, this.#bytes / MAX_QUEUED_BYTES);
    this.#room = new Backpressure(fill, options.onRoom);
  }

  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Records that could not be stored since the process started. */
  get leftOut(): number {
    return this.#leftOut;
  }

  onRecord(record: OpenRecord): DispatchResult {
    if (this.#stopping || !this.#room.accepts()) return 'busy';
    const event = this.options.parse(record);
    if (event === undefined || event === 'skip') {
      const { topic, partition, offset } = record;
      if (!event) {
        this.#leftOut++;
        this.options.log.error({ topic, partition, offset }, 'history.unreadable');
      }
      record.done();
      return 'accepted';
    }
    const bytes = record.value?.length ?? 0;
    const { topic, partition, offset, timestampMs: atMs } = record;
    this.#queue.push({ event, bytes, record, topic, partition, offset, atMs });
    this.#bytes += bytes;
    this.#running ??= this.#run();
    if (this.#isBatch()) this.#enough();
    return 'accepted';
  }

  /** Writes the queue without gathering more, because no more records come. */
  hurry(): void {
    this.#hurrying = true;
    this.#enough();
  }

  /** Stops after the batch that is being written. The next process reads the rest again. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.hurry();
    await this.#running;
  }

  async #run(): Promise<void> {
    const retry = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, this.options.pause);
    await this.#gather(GATHER_MS);
    while (this.#queue.length > 0 && !this.#stopping) {
      if (this.#waits()) {
        await sleep(LOOK_EVERY_MS);
        continue;
      }
      const batch = this.#head();
      try {
        await this.#writeHead(batch);
        retry.reset();
        this.#trouble = undefined;
        this.#unknown = 0;
        this.#taken(batch);
        await this.#gather(batch.length < BUSY_BATCH ? GATHER_MS : GATHER_BUSY_MS);
      } catch (error) {
        if (this.#trouble === undefined) this.options.log.warn({ reason: messageOf(error) }, 'history.not_written');
        this.#trouble = messageOf(error);
        await retry.pause();
      }
    }
    this.#running = undefined;
  }

  #isBatch(): boolean {
    return this.#queue.length >= MAX_BATCH || this.#bytes >= MAX_BATCH_BYTES;
  }

  #waits(): boolean {
    const oldest = this.#queue[0]?.atMs ?? 0;
    return this.#isBatch() && this.options.now() - oldest < BEHIND_MS && this.options.othersFirst();
  }

  async #gather(ms: number): Promise<void> {
    if (this.#isBatch() || this.#hurrying) return;
    const enough = new AbortController();
    this.#enough = () => enough.abort();
    await sleep(ms, { signal: enough.signal });
    this.#enough = () => undefined;
  }

  #head(): Queued<E>[] {
    let bytes = 0;
    const end = this.#queue.findIndex((queued, i) => {
      bytes += queued.bytes;
      return i >= MAX_BATCH || (i > 0 && bytes > MAX_BATCH_BYTES);
    });
    return end < 0 ? [...this.#queue] : this.#queue.slice(0, end);
  }

  /** @throws the error of `write` if the batch should be retried after a pause */
  async #writeHead(batch: Queued<E>[]): Promise<void> {
    try {
      await this.#writeAll(batch);
    } catch (error) {
      const fault = this.options.faultOf(error);
      if (fault === 'away') throw error;
      if (fault === 'other' && ++this.#unknown < UNKNOWN_TRIES) throw error;
      await this.#divide(batch, error);
    }
  }

  /** Halves the batch to find the event that the database refuses, and leaves it out so that the others are stored. */
  async #divide(batch: Queued<E>[], cause: unknown): Promise<void> {
    const [only, ...others] = batch;
    if (only && others.length === 0) {
      await this.#leaveOut(only, cause);
      return;
    }
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) await this.#writeHalf(half);
  }

  async #writeHalf(half: Queued<E>[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#writeAll(half);
        return;
      } catch (error) {
        const fault = this.options.faultOf(error);
        if (fault === 'away') throw error;
        if (fault === 'other' && tries < HALF_TRIES) continue;
        await this.#divide(half, error);
        return;
      }
    }
  }

  /**
   * Leaves an event out if the database takes writes. If it does not (read-only after a failover), no event is at
   * fault, and none is left out.
   */
  async #leaveOut(only: Queued<E>, cause: unknown): Promise<void> {
    await this.options.write([]);
    this.#leftOut++;
    const { topic, partition, offset } = only;
    this.options.log.error({ topic, partition, offset, reason: messageOf(cause) }, 'history.not_recorded');
  }

  #writeAll(batch: Queued<E>[]): Promise<void> {
    return this.options.write(batch.map(({ event }) => event));
  }

  #taken(batch: Queued<E>[]): void {
    this.#queue = this.#queue.slice(batch.length);
    for (const { bytes, record } of batch) {
      this.#bytes -= bytes;
      record.done();
    }
    this.#room.resumeAtHalf();
  }
}
