import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../../shared/errors';
import { type OpenRecord, type Verdict } from '../../../shared/kafka/port';
import { type Log } from '../../../shared/telemetry/log';

/**
 * From a topic into the database, many events at once.
 *
 * Invariant: a record is done only when its event is committed there: outcome first, offset afterwards. While the
 * database is away the queue is full, the partitions rest, and Kafka keeps what comes.
 */

/** One transaction a batch: many small ones cost more than all they write. */
const MAX_BATCH = 2_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/**
 * While one batch is written the next one gathers. What an idle system writes may gather for a moment; a busy one's for
 * longer, since each batch costs as much as a few hundred of its events: nobody reads along at hundreds a second.
 */
const GATHER_MS = 100;
const GATHER_BUSY_MS = 1_000;
const BUSY_BATCH = 50;
const MAX_QUEUED = 6_000;
const MAX_QUEUED_BYTES = 16 * 1024 * 1024;
/**
 * Where a whole batch gathers within moments and others need all the cores, the history waits for them: at thousands a second
 * nobody reads along. But no longer than this, by the oldest event.
 */
const BEHIND_MS = 60_000;
const LOOK_EVERY_MS = 500;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

interface Queued<E> {
  event: E;
  bytes: number;
  record: OpenRecord;
  /** where it lies: a record can be asked only while it is offered */
  partition: number;
  offset: number;
  /** when it was appended, ms since 1970 */
  atMs: number;
}

export interface FeedOptions<E> {
  /** What a record says; `skip`: nothing; undefined where it cannot be used. */
  parse(record: OpenRecord): E | 'skip' | undefined;
  /**
   * @param positions where to read on behind them, by partition
   * @throws whatever the database throws; nothing of the batch is written then
   */
  write(events: E[], positions: ReadonlyMap<number, number>): Promise<void>;
  /** Whether one of the events itself is what the database refuses, as far as its error tells. */
  isDataError(error: unknown): boolean;
  /** Whether others need all that this machine's cores can do. */
  othersFirst(): boolean;
  now(): number;
  /** Room again after `full`. */
  onRoom(): void;
  log: Log;
}

export class Feed<E extends object> {
  #queue: Queued<E>[] = [];
  #bytes = 0;
  #refused = false;
  #running: Promise<void> | undefined;
  #stopping = false;
  /** it gathers no longer */
  #hurrying = false;
  /** a whole batch is there: it need not gather any longer */
  #enough: () => void = () => undefined;
  /** why the last batch could not be written */
  #trouble: string | undefined;

  constructor(private readonly options: FeedOptions<E>) {}

  get trouble(): string | undefined {
    return this.#trouble;
  }

  onRecord(record: OpenRecord): Verdict {
    if (this.#queue.length >= MAX_QUEUED || this.#bytes >= MAX_QUEUED_BYTES || this.#stopping) {
      this.#refused = true;
      return 'full';
    }
    const event = this.options.parse(record);
    if (event === undefined || event === 'skip') {
      const { topic, partition, offset } = record;
      if (!event) this.options.log.error({ topic, partition, offset }, 'history.unreadable');
      record.done();
      return 'taken';
    }
    const bytes = record.value?.length ?? 0;
    const { partition, offset, timestampMs: atMs } = record;
    this.#queue.push({ event, bytes, record, partition, offset, atMs });
    this.#bytes += bytes;
    this.#running ??= this.#run();
    if (this.#isBatch()) this.#enough();
    return 'taken';
  }

  /** What is queued is written without gathering more: nothing comes after it. */
  hurry(): void {
    this.#hurrying = true;
    this.#enough();
  }

  /** Ends after the batch that is being written; the rest is read again by the next process. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.hurry();
    await this.#running;
  }

  async #run(): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    await this.#gather(GATHER_MS);
    while (this.#queue.length > 0 && !this.#stopping) {
      if (this.#waits()) {
        await pause(LOOK_EVERY_MS);
        continue;
      }
      const batch = this.#head();
      try {
        await this.#write(batch);
        pauseMs = FIRST_PAUSE_MS;
        this.#trouble = undefined;
        this.#taken(batch);
        await this.#gather(batch.length < BUSY_BATCH ? GATHER_MS : GATHER_BUSY_MS);
      } catch (error) {
        if (this.#trouble === undefined) this.options.log.warn({ reason: messageOf(error) }, 'history.not_written');
        this.#trouble = messageOf(error);
        await pause(pauseMs);
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
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
    await pause(ms, undefined, { signal: enough.signal }).catch(() => undefined);
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

  /** One event that the database cannot take must not stop all others: it is found by halves, told and left out. */
  async #write(batch: Queued<E>[]): Promise<void> {
    try {
      const positions = new Map(batch.map(({ partition, offset }) => [partition, offset + 1]));
      await this.options.write(
        batch.map(({ event }) => event),
        positions,
      );
    } catch (error) {
      if (!this.options.isDataError(error)) throw error;
      const [only, ...others] = batch;
      if (others.length === 0) {
        const { topic, partition, offset } = only?.record ?? {};
        this.options.log.error({ topic, partition, offset, reason: messageOf(error) }, 'history.not_recorded');
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await this.#write(batch.slice(0, half));
      await this.#write(batch.slice(half));
    }
  }

  #taken(batch: Queued<E>[]): void {
    this.#queue = this.#queue.slice(batch.length);
    for (const { bytes, record } of batch) {
      this.#bytes -= bytes;
      record.done();
    }
    if (!this.#refused || this.#queue.length > MAX_QUEUED / 2 || this.#bytes > MAX_QUEUED_BYTES / 2) return;
    this.#refused = false;
    this.options.onRoom();
  }
}
