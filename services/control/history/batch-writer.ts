import { backoff, sleep } from '../../../shared/runtime/async';
import { Backpressure } from '../../../shared/runtime/load-limits';
import { messageOf } from '../../../shared/runtime/errors';
import { type OpenRecord, type DispatchResult } from '../../../shared/kafka/port';
import { type Log } from '../../../shared/telemetry/log';
import { type DatabaseFault } from './database';
import { countOf, EventQueue, type Parsing, type Queued } from './event-queue';

/**
 * Writes the records of a topic to the database in batches.
 *
 * Invariant: a record is done only when its event is committed there: row first, offset afterwards.
 * While the database is away the queue is full, the partitions pause, and new records wait in
 * Kafka.
 */

/**
 * The next batch gathers while one is written, and then for this time: a short time in an idle
 * system, longer in a busy one, since a batch costs as much as a few hundred events, and no person
 * reads hundreds of events a second.
 */
const GATHER_MS = 250;
const GATHER_BUSY_MS = 2_000;
const BUSY_BATCH = 50;
/**
 * If whole batches gather quickly and other processes need all cores, the history waits for them,
 * since no person reads thousands of events a second. This limits the age of the oldest event.
 */
const BEHIND_MS = 60_000;
const POLL_MS = 500;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/**
 * A batch that fails with an unknown fault is halved after this many tries: six seconds, with the
 * pauses between. A half is retried once immediately, because by then a partition that another
 * process ended has been read again.
 */
const UNKNOWN_TRIES = 6;
const HALF_TRIES = 2;

/** A record that waits. */
interface Waiting<E> extends Queued {
  parse: Parsing<E>['events'];
  /** its events, once its batch has read them */
  entries?: Entry<E>[];
}

/** An event, and the record that it is from. */
interface Entry<E> {
  event: E;
  from: Waiting<E>;
}

export interface BatchWriterOptions<E> {
  /**
   * Returns a function that reads the events of a record. It may be called after the record was
   * offered.
   */
  parse(record: OpenRecord): Parsing<E>;
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
  readonly #queue = new EventQueue<Waiting<E>>();
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
    this.#room = new Backpressure(() => this.#queue.fill, options.onRoom);
  }

  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Events that could not be stored since the process started. */
  get leftOut(): number {
    return this.#leftOut;
  }

  onRecord(record: OpenRecord): DispatchResult {
    if (this.#stopping || !this.#room.accepts()) return 'busy';
    const { topic, partition, offset, timestampMs: atMs } = record;
    const { count: events, events: parse } = this.options.parse(record);
    if (events === 0) {
      record.done();
      return 'accepted';
    }
    this.#queue.push({
      events,
      parse,
      bytes: record.value?.length ?? 0,
      record,
      topic,
      partition,
      offset,
      atMs,
    });
    this.#running ??= this.#run();
    if (this.#queue.hasBatch) this.#enough();
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
    while (this.#queue.first && !this.#stopping) {
      if (this.#waits()) {
        await sleep(POLL_MS);
        continue;
      }
      const batch = this.#queue.batch();
      try {
        await this.#writeHead(batch.flatMap((from) => (from.entries ??= this.#entriesOf(from))));
        retry.reset();
        this.#trouble = undefined;
        this.#unknown = 0;
        this.#taken(batch);
        await this.#gather(countOf(batch) < BUSY_BATCH ? GATHER_MS : GATHER_BUSY_MS);
      } catch (error) {
        if (this.#trouble === undefined) {
          this.options.log.warn({ reason: messageOf(error) }, 'history.not_written');
        }
        this.#trouble = messageOf(error);
        await retry.pause();
      }
    }
    this.#running = undefined;
  }

  #entriesOf(from: Waiting<E>): Entry<E>[] {
    const parsed = from.parse();
    const entries: Entry<E>[] = [];
    for (const event of parsed) if (event) entries.push({ event, from });
    const unreadable = parsed.length - entries.length;
    if (unreadable === 0) return entries;
    this.#leftOut += unreadable;
    const { topic, partition, offset } = from;
    this.options.log.error({ topic, partition, offset, events: unreadable }, 'history.unreadable');
    return entries;
  }

  #waits(): boolean {
    const oldest = this.#queue.first?.atMs ?? 0;
    return (
      this.#queue.hasBatch && this.options.now() - oldest < BEHIND_MS && this.options.othersFirst()
    );
  }

  async #gather(ms: number): Promise<void> {
    if (this.#queue.hasBatch || this.#hurrying) return;
    const enough = new AbortController();
    this.#enough = () => enough.abort();
    await sleep(ms, { signal: enough.signal });
    this.#enough = () => undefined;
  }

  /** @throws the error of `write` if the batch should be retried after a pause */
  async #writeHead(batch: Entry<E>[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      await this.#writeAll(batch);
    } catch (error) {
      const fault = this.options.faultOf(error);
      if (fault === 'away') throw error;
      if (fault === 'other' && ++this.#unknown < UNKNOWN_TRIES) throw error;
      await this.#divide(batch, error);
    }
  }

  /**
   * Halves the batch to find the event that the database refuses, and leaves it out so that the
   * others are stored.
   */
  async #divide(batch: Entry<E>[], cause: unknown): Promise<void> {
    const [only, ...others] = batch;
    if (only && others.length === 0) {
      await this.#leaveOut(only, cause);
      return;
    }
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) await this.#writeHalf(half);
  }

  async #writeHalf(half: Entry<E>[]): Promise<void> {
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
   * Leaves an event out if the database takes writes. If it does not (read-only after a failover),
   * no event is at fault, and none is left out.
   */
  async #leaveOut({ from }: Entry<E>, cause: unknown): Promise<void> {
    await this.options.write([]);
    this.#leftOut++;
    const { topic, partition, offset } = from;
    this.options.log.error(
      { topic, partition, offset, reason: messageOf(cause) },
      'history.not_recorded',
    );
  }

  #writeAll(batch: Entry<E>[]): Promise<void> {
    return this.options.write(batch.map(({ event }) => event));
  }

  #taken(batch: Waiting<E>[]): void {
    this.#queue.remove(batch);
    for (const { record } of batch) record.done();
    this.#room.resumeAtHalf();
  }
}
