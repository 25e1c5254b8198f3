import {
  type Fetched,
  type InRecord,
  type Kafka,
  type Range,
  type ReadAt,
} from '../../../shared/kafka/port';
import { meterCut } from '../../../shared/kafka/metrics';
import { markAt, markBefore, nameOf } from '../../../shared/kafka/record-name';
import { goOnBehind, rangeOf, recordAt } from '../../../shared/kafka/scan';
import { newerFormatOf } from '../../../shared/model/record-format';
import { type Backoff, backoff, inTurn, sleep } from '../../../shared/runtime/async';
import { messageOf, newerFormat } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import {
  type Asking,
  faultOf,
  type Transaction,
  waitedForLock,
  wasCanceled,
} from '../history/database';
import { Problem } from '../http/problem';
import {
  beginPositions,
  hasReadTo,
  movePositions,
  type Position,
  readPositions,
} from './positions';
import { keyOf, type SharedReads } from './shared-reads';
import { type Shares } from './shares';

/**
 * Reads a topic into the database, each record exactly once.
 *
 * Invariant: one transaction writes what the records say and the positions behind them, on
 * condition that the stored positions are those where this process began. So no record is lost or
 * counted twice, although processes stop, alternate, or read the same partition for a moment.
 *
 * A position names the record before it. Whenever the log may be another one than before, the
 * record is compared before anything behind it is taken, so that a reader goes on at the first
 * record that was appended since the log was cut.
 *
 * Each reader has its own positions and its own pace: one that lags, or waits for a locked table,
 * holds up no other. It holds records only while it writes them; all others wait in Kafka.
 */

/** What a reader does with the records of a topic. */
export interface Handler<E> {
  /** names its positions */
  readonly name: string;
  readonly topic: string;
  /** A new database begins with records appended at this time or later, ms since 1970. */
  sinceMs(): number;
  /** Returns the entries of a record; undefined in place of each that cannot be used. */
  entriesOf(record: InRecord): readonly (E | undefined)[];
  /**
   * Writes entries, in any number of statements.
   * @returns what to do once the transaction is committed
   */
  write(transaction: Transaction, entries: readonly E[]): Promise<(() => void) | undefined>;
  /** Runs work in a transaction (default: of `Asking.ask`). */
  transact?<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
}

export interface Pace {
  /** pause after a few entries, ms. Without one the reader waits in Kafka. */
  quietMs: number;
  /** pause after many entries, ms: a large batch costs little more than a small one */
  busyMs: number;
  /** age up to which records of whole batches wait while other processes need all cores, ms */
  yieldsForMs: number;
}

export interface ReaderOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  reads: Pick<SharedReads, 'read' | 'next' | 'forget'>;
  shares: Pick<Shares, 'owns'>;
  history: Asking;
  /** Returns whether other processes need all cores of this machine. */
  othersFirst: () => boolean;
  /** ms since 1970 */
  nowMs: () => number;
  log: Log;
  /** Waits before the next try, ms (default: `sleep`). */
  pause?: (ms: number) => Promise<void>;
}

/** One transaction for each batch: many small transactions cost more than the rows in them. */
const MAX_BATCH = 2_000;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
/** From this number of entries on, the pause is the long one. */
const BUSY_BATCH = 50;
/** All partitions of a round together, and each of them. */
const ROUND_BYTES = 2 * 1024 * 1024;
const MOST_BYTES = 256 * 1024;
const LEAST_BYTES = 32 * 1024;
/** Partitions may be added to a topic. */
const PARTITIONS_EVERY_MS = 60_000;
const YIELD_MS = 500;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/**
 * A batch that fails with an unknown fault is divided after this many tries: six seconds, with the
 * pauses between. A part is retried once immediately, because the fault may have passed by then.
 */
const UNKNOWN_TRIES = 6;
const PART_TRIES = 2;

/** The position of a partition in memory. */
interface ReadPosition extends Position {
  /** as the database has it */
  stored: Pick<Position, 'next' | 'last'>;
  /** of the log that is known to hold the last record; undefined: none is */
  era: string | undefined;
}

/** What was fetched while nothing else was to read. */
interface Ahead {
  /** by `keyOf` */
  fetched: ReadonlyMap<string, Fetched>;
  /** when it was asked for, ms since 1970 */
  askedMs: number;
}

/** Another process has moved the positions. */
class Overtaken extends Error {}

/** The readers of control, each with its own positions and its own pace. */
export type Readers = Record<
  'history' | 'audit' | 'alerts' | 'eventNames' | 'search',
  Reader<unknown>
>;

export class Reader<E> {
  readonly #positions = new Map<number, ReadPosition>();
  #partitions: number[] = [];
  #partitionsAtMs = -Infinity;
  readonly #inTurn = inTurn();
  /** a run of `poll` that has not begun */
  #queued: Promise<number> | undefined;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** consecutive unknown faults */
  #unknown = 0;
  #trouble: string | undefined;
  /** why a partition is not read */
  #blocked: string | undefined;
  #leftOut = 0;
  #oldestMs = Infinity;

  constructor(
    private readonly handler: Handler<E>,
    private readonly pace: Pace,
    private readonly options: ReaderOptions,
  ) {
    // The series exists from the start, so that the first cut shows as an increase.
    meterCut(this.#meteredAs, handler.topic, 0);
  }

  get name(): string {
    return this.handler.name;
  }

  /** Why records are not read or written; undefined if they are. */
  get trouble(): string | undefined {
    return this.#trouble ?? this.#blocked;
  }

  /** Entries that could not be stored since the process started. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Age of the oldest record that this process has not written, seconds; about 0 at the end. */
  get behindSeconds(): number {
    if (this.#positions.size > 0) {
      this.#oldestMs = Math.min(...Array.from(this.#positions.values(), ({ readMs }) => readMs));
    }
    return Math.max(0, this.options.nowMs() - this.#oldestMs) / 1_000;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Stops after the batch that is being written. The next process reads the rest. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#inTurn(() => Promise.resolve());
  }

  /**
   * Reads to the present ends of the partitions of this process, and writes.
   * @returns the number of entries; a record without any counts as one
   * @throws an error of Kafka or the database; no record is lost or counted twice
   */
  poll(): Promise<number> {
    // A run that has not begun will read to the same ends.
    this.#queued ??= this.#inTurn(() => {
      this.#queued = undefined;
      return this.#poll();
    });
    return this.#queued;
  }

  /** Returns whether the database holds everything before these ends, whichever process read it. */
  hasRead(ends: readonly Range[]): Promise<boolean> {
    return this.options.history.ask((database) => hasReadTo(database, this.name, ends));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const pause = this.options.pause ?? ((ms: number) => sleep(ms, { ref: false, signal }));
    const retry: Backoff = backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, pause);
    let ahead: Ahead | undefined;
    while (!signal.aborted) {
      try {
        const entries = await this.#inTurn(() => this.#poll(ahead));
        ahead = undefined;
        retry.reset();
        this.#trouble = undefined;
        if (entries === 0 && this.#positions.size > 0 && this.#blocked === undefined) {
          ahead = await this.#next();
        } else {
          await pause(entries < BUSY_BATCH ? this.pace.quietMs : this.pace.busyMs);
        }
      } catch (error) {
        const { log } = this.options;
        const reason = messageOf(error);
        if (this.#trouble === undefined) log.warn({ reader: this.name, reason }, 'reader.failed');
        this.#trouble = reason;
        ahead = undefined;
        await retry.pause();
      }
    }
  }

  /** Waits for a record to read, for some seconds at most. */
  async #next(): Promise<Ahead> {
    const { nowMs, reads } = this.options;
    const { signal } = this.#stopping;
    const askedMs = nowMs();
    const positions = [...this.#positions.values()];
    const ats = positions.map((position) => this.#at(position, bytesEach(positions.length)));
    return { fetched: await reads.next(ats, signal), askedMs };
  }

  /** @param ahead what was fetched before; without it everything is asked for now */
  async #poll(ahead?: Ahead): Promise<number> {
    try {
      return await this.#readToEnds(ahead);
    } catch (error) {
      // A transaction may have been committed although it failed: the database knows.
      this.#positions.clear();
      if (!(error instanceof Overtaken)) throw error;
      this.options.log.debug({ reader: this.name }, 'reader.overtaken');
      return 0;
    }
  }

  async #readToEnds(ahead: Ahead | undefined): Promise<number> {
    let pending = await this.#begin();
    let count = 0;
    let batch = new Batch<E>(this.handler);
    const ends = new Map<number, number>();
    const failures: string[] = [];
    while (pending.length > 0 && !this.#stopping.signal.aborted) {
      const askedMs = ahead?.askedMs ?? this.options.nowMs();
      const maxBytes = bytesEach(pending.length);
      const round = await Promise.allSettled(
        pending.map((position) => this.#read(position, maxBytes, ahead)),
      );
      ahead = undefined;
      const unfinished: ReadPosition[] = [];
      for (const [i, result] of round.entries()) {
        const position = pending[i];
        if (!position) continue;
        if (result.status === 'rejected') {
          // The others are read on: this one may have no leader.
          failures.push(messageOf(result.reason));
          if (failures.length === this.#positions.size) throw result.reason;
          continue;
        }
        const { records, next, end } = result.value;
        // The log was cut: its end is another one.
        if (next < position.next) ends.delete(position.partition);
        if (!ends.has(position.partition) && end !== Infinity) ends.set(position.partition, end);
        let newer: string | undefined;
        for (const record of records) {
          newer = this.#newerFormatOf(record);
          if (newer !== undefined) break;
          count += Math.max(1, batch.add(record));
          position.next = record.offset + 1;
          position.last = markAt(nameOf(record), position.last ?? undefined);
          position.readMs = Math.max(position.readMs, record.timestampMs);
          if (!batch.isFull) continue;
          await this.#yieldToOthers(batch);
          await this.#commit(batch);
          batch = new Batch(this.handler);
        }
        if (newer !== undefined) {
          failures.push(newer);
          continue;
        }
        position.next = next;
        if (next >= end) position.readMs = Math.max(position.readMs, askedMs);
        if (next < (ends.get(position.partition) ?? Infinity)) unfinished.push(position);
      }
      pending = unfinished;
    }
    await this.#commit(batch);
    if (failures[0] !== undefined && this.#blocked === undefined) {
      this.options.log.error({ reader: this.name, reason: failures[0] }, 'reader.blocked');
    }
    this.#blocked = failures[0];
    return count;
  }

  /** Returns the positions of the partitions that this process reads now. */
  async #begin(): Promise<ReadPosition[]> {
    const { shares, history } = this.options;
    const all = await this.#knownPartitions();
    const own = all.filter((partition) => shares.owns(partition));
    if (own.length === 0) this.#oldestMs = Infinity;
    for (const partition of this.#positions.keys()) {
      if (!own.includes(partition)) this.#positions.delete(partition);
    }
    // Another process may have read a partition since this one did, so its position is read again.
    const lacking = own.filter((partition) => !this.#positions.has(partition));
    if (lacking.length > 0) {
      let stored = await history.ask((database) => readPositions(database, this.name));
      // A new database gets all positions at once: another process would take those that it lacks
      // for partitions that were added.
      const fresh = (stored.size === 0 ? all : lacking).filter((each) => !stored.has(each));
      if (fresh.length > 0) {
        const begun = await this.#beginningOf(fresh, stored.size === 0);
        stored = await history.ask(async (database) => {
          await beginPositions(database, this.name, begun);
          return readPositions(database, this.name);
        });
      }
      for (const partition of lacking) {
        const position = stored.get(partition);
        if (!position) continue;
        this.#positions.set(partition, { ...position, stored: position, era: undefined });
      }
    }
    return [...this.#positions.values()];
  }

  async #knownPartitions(): Promise<number[]> {
    const { kafka, nowMs } = this.options;
    if (Math.abs(nowMs() - this.#partitionsAtMs) < PARTITIONS_EVERY_MS) return this.#partitions;
    try {
      const ranges = await kafka.ranges(this.handler.topic);
      this.#partitions = ranges.map(({ partition }) => partition);
      this.#partitionsAtMs = nowMs();
    } catch (error) {
      // A partition that has no leader must not hold up the others.
      const stored = await this.options.history.ask((each) => readPositions(each, this.name));
      if (stored.size === 0) throw error;
      this.#partitions = [...stored.keys()];
    }
    return this.#partitions;
  }

  /** @param isNew the reader has no positions yet. A partition that is added is read whole. */
  async #beginningOf(partitions: readonly number[], isNew: boolean): Promise<Position[]> {
    const { kafka } = this.options;
    const { topic } = this.handler;
    const sinceMs = this.handler.sinceMs();
    const ranges = await kafka.ranges(topic, isNew && sinceMs > 0 ? sinceMs : undefined);
    const wanted = ranges.filter(({ partition }) => partitions.includes(partition));
    return Promise.all(
      wanted.map(async ({ partition, low: next }) => {
        const offset = next - 1;
        const before = next > 0 ? await recordAt(kafka, { topic, partition, offset }) : undefined;
        const last = before?.offset === offset ? markAt(nameOf(before)) : null;
        return { partition, next, last, sinceMs, readMs: sinceMs };
      }),
    );
  }

  #at({ partition, next: offset }: ReadPosition, maxBytes: number): ReadAt {
    return { topic: this.handler.topic, partition, offset, maxBytes };
  }

  async #read(
    position: ReadPosition,
    maxBytes: number,
    ahead: Ahead | undefined,
  ): Promise<Fetched> {
    const at = this.#at(position, maxBytes);
    const fetched = ahead?.fetched.get(keyOf(at)) ?? (await this.options.reads.read(at));
    if (!fetched.gone && fetched.era === position.era) return fetched;
    const next = await this.#nextIn(position);
    if (!fetched.gone) {
      position.era = fetched.era;
      if (next === position.next) return fetched;
    }
    // The end is asked for by the next read.
    return { ...fetched, records: [], next, end: Infinity };
  }

  /** Returns where to read on in a log that may hold other records than those that were read. */
  async #nextIn(position: ReadPosition): Promise<number> {
    const { kafka, reads, log } = this.options;
    const { topic } = this.handler;
    const { partition, last, sinceMs } = position;
    const at = { topic, partition };
    const about = { reader: this.name, ...at, offset: position.next };
    if (!last) {
      const { low, high } = (await rangeOf(kafka, at, sinceMs)) ?? { low: 0, high: 0 };
      return position.next < low || position.next > high ? low : position.next;
    }
    const { next, cut } = await goOnBehind(kafka, at, last);
    if (cut === 0) {
      if (next > position.next) log.error({ ...about, from: next }, 'reader.records_expired');
      return Math.max(next, position.next);
    }
    log.error({ ...about, offsets: cut, from: next }, 'reader.log_cut');
    meterCut(this.#meteredAs, topic, cut);
    // Others of this process have fetched what was cut off.
    reads.forget(topic, partition);
    position.last = markBefore(next, last);
    return next;
  }

  get #meteredAs(): string {
    return `control-${this.name}`;
  }

  #newerFormatOf(record: InRecord): string | undefined {
    const format = newerFormatOf(record.headers);
    return format === undefined
      ? undefined
      : newerFormat(record, format, 'this control process').message;
  }

  /** Waits while other processes need all cores: no person reads thousands of events a second. */
  async #yieldToOthers({ oldestMs }: Batch<E>): Promise<void> {
    const { othersFirst, nowMs } = this.options;
    const { signal } = this.#stopping;
    while (!signal.aborted && nowMs() - oldestMs < this.pace.yieldsForMs && othersFirst()) {
      await sleep(YIELD_MS, { signal });
    }
  }

  async #commit(batch: Batch<E>): Promise<void> {
    const moved = [...this.#positions.values()].filter(
      ({ next, last, stored }) => next !== stored.next || last !== stored.last,
    );
    if (moved.length === 0) return;
    const moves = moved.map(({ partition, stored: from, next, last, readMs }) => ({
      partition,
      from,
      to: { next, last },
      readMs,
    }));
    const write = (isApart: boolean) =>
      this.#transact(async (transaction) => {
        if (!(await movePositions(transaction, this.name, moves))) throw new Overtaken();
        if (isApart) return this.#writeApart(transaction, batch);
        const { entries } = batch;
        const then =
          entries.length > 0 ? await this.handler.write(transaction, entries) : undefined;
        return { then: [then], refused: [] };
      });
    const isPersistent = this.#unknown >= UNKNOWN_TRIES;
    const { then, refused } = await write(isPersistent).catch((error: unknown) => {
      const fault = this.#faultOf(error);
      if (fault === 'data' && !isPersistent) return write(true);
      if (fault === 'other') this.#unknown++;
      throw error;
    });
    this.#unknown = 0;
    for (const position of moved) position.stored = { next: position.next, last: position.last };
    for (const each of then) each?.();
    this.#report(batch, refused);
  }

  #transact<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { handler } = this;
    if (handler.transact) return handler.transact(work);
    return this.options.history.ask((database) => database.transaction(work));
  }

  /**
   * Writes a batch in parts, and leaves out the entries that the database refuses. The positions
   * were moved in the same transaction, so the database takes writes: the entries are at fault,
   * unless a statement waited too long for a lock.
   */
  async #writeApart(transaction: Transaction, { entries, from }: Batch<E>) {
    const then: ((() => void) | undefined)[] = [];
    const refused: Refused[] = [];
    const writePart = async (start: number, end: number): Promise<void> => {
      if (start === end) return;
      let cause: unknown;
      for (let tries = 1; tries <= PART_TRIES; tries++) {
        await transaction.query('savepoint part');
        try {
          then.push(await this.handler.write(transaction, entries.slice(start, end)));
          await transaction.query('release savepoint part');
          return;
        } catch (error) {
          cause = error;
          const fault = this.#faultOf(error);
          // A smaller part would wait for the same lock.
          if (fault === 'away' || waitedForLock(error)) throw error;
          await transaction.query('rollback to savepoint part');
          await transaction.query('release savepoint part');
          if (fault === 'data') break;
        }
      }
      const record = from[start];
      if (end - start === 1 && wasCanceled(cause)) throw cause;
      if (end - start === 1 && record) {
        refused.push({ record, reason: messageOf(cause) });
        return;
      }
      const middle = Math.ceil((start + end) / 2);
      await writePart(start, middle);
      await writePart(middle, end);
    };
    await writePart(0, entries.length);
    return { then, refused };
  }

  #faultOf(error: unknown) {
    if (error instanceof Overtaken || error instanceof Problem) return 'away';
    return faultOf(error, undefined);
  }

  #report({ unreadable }: Batch<E>, refused: readonly Refused[]): void {
    const { log } = this.options;
    const at = ({ topic, partition, offset }: InRecord) => ({ topic, partition, offset });
    for (const { record, entries } of unreadable) {
      this.#leftOut += entries;
      log.error({ reader: this.name, ...at(record), entries }, 'reader.unreadable');
    }
    for (const { record, reason } of refused) {
      this.#leftOut++;
      log.error({ reader: this.name, ...at(record), reason }, 'reader.not_recorded');
    }
  }
}

interface Refused {
  record: InRecord;
  reason: string;
}

class Batch<E> {
  readonly entries: E[] = [];
  /** the record of each entry */
  readonly from: InRecord[] = [];
  readonly unreadable: { record: InRecord; entries: number }[] = [];
  /** when the oldest record was appended, ms since 1970 */
  oldestMs = Infinity;
  #bytes = 0;

  constructor(private readonly handler: Pick<Handler<E>, 'entriesOf'>) {}

  get isFull(): boolean {
    return this.entries.length >= MAX_BATCH || this.#bytes >= MAX_BATCH_BYTES;
  }

  add(record: InRecord): number {
    let unreadable = 0;
    const entries = this.handler.entriesOf(record);
    for (const entry of entries) {
      if (entry === undefined) {
        unreadable++;
        continue;
      }
      this.entries.push(entry);
      this.from.push(record);
    }
    if (unreadable > 0) this.unreadable.push({ record, entries: unreadable });
    this.oldestMs = Math.min(this.oldestMs, record.timestampMs);
    this.#bytes += record.value?.length ?? 0;
    return entries.length;
  }
}

function bytesEach(partitions: number): number {
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor(ROUND_BYTES / partitions)));
}
