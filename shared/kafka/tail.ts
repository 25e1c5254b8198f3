import { sleep, withDeadline, withTimeout } from '../runtime/async';
import { PollLiveness } from '../runtime/health';
import { AppError, messageOf } from '../runtime/errors';
import { type Log } from '../telemetry/log';
import { brokerClock } from './broker-clock';
import { type LogBrokers } from './consumer/brokers';
import { Fetcher } from './consumer/fetcher';
import { type Bounds, Leaders, LeaderSearch, lookUp } from './consumer/leaders';
import {
  ConsumedRecord,
  idOf,
  Partition,
  placeOf,
  type TopicPartition,
} from './consumer/partition';
import { Position } from './consumer/position';
import { type FetchWait } from './idle-wait';
import { meterCut } from './metrics';
import { type Tail, type TailOptions } from './port';
import { type FetchedRecord } from './protocol/batch';
import { type FetchAnswer } from './protocol/fetch-request';
import { LATEST } from './protocol/offset-requests';
import { unavailable } from './reader';

/**
 * Reads a whole topic, or only its new records, for this process alone. It uses no consumer group,
 * so it never waits for a rebalance.
 *
 * Invariant: `completeAt` moves only with proof from an answer: it names the partition, the
 * position is compared with the log, and the high watermark lies at or before it. A new leader may
 * report an older high watermark. So whenever the log may have changed, the position must also
 * reach the end from ListOffsets, which a new leader answers only once it knows it.
 */

const FETCH_BYTES = 1024 * 1024;
const PARTITION_BYTES = 256 * 1024;
/** A loaded broker may need this long for the leaders of some hundred new partitions. */
const START_WITHIN_MS = 60_000;
const AGAIN_MS = 100;
/** New partitions are read after this time. */
const METADATA_MAX_AGE_MS = 30_000;
const GOODBYE_MS = 1_000;

export interface KafkaTailOptions extends TailOptions {
  prefix: string;
  wait: FetchWait;
  brokers: LogBrokers;
  log: Log;
}

/** What is known of the end of a partition. */
interface End {
  /** least position that counts as complete */
  floor: number;
  /** era of the position in which `floor` was looked up */
  era: object | undefined;
  isLooking: boolean;
  /** `onRecord` has received all records that the partition held at this time */
  completeAt: number;
}

/** The end of a log, and the position that reads this log. */
interface LogEnd {
  position: Position;
  end: number;
}

export class KafkaTail implements Tail {
  /** by id: the partitions of which it is known where to read */
  readonly #partitions = new Map<string, Partition>();
  readonly #ends = new Map<Partition, End>();
  readonly #leaders: Leaders;
  readonly #search: LeaderSearch;
  readonly #fetcher: Fetcher;
  readonly #progress = new PollLiveness();
  readonly #waiting = new Set<() => void>();
  /** full name */
  readonly #name: string;
  /** number of partitions at the start: later ones are read from their beginning */
  #counted = 0;
  #isBeginning = false;
  #findingEnd: Promise<void> | undefined;
  #completeAt = -Infinity;
  /** the topic is read once more from its beginning */
  #startsOver = false;
  /** when reading was interrupted; undefined once all partitions are read to their ends again */
  #interruptedAt: number | undefined;
  #stopped = false;

  constructor(private readonly options: KafkaTailOptions) {
    const { brokers, prefix, topic, wait, log } = options;
    this.#name = prefix + topic;
    // The series exists from the start, so that the first cut shows as an increase.
    meterCut(options.name, topic, 0);
    this.#leaders = new Leaders(brokers, [this.#name]);
    this.#search = new LeaderSearch(this.#leaders, (isKnown) => this.#onRefreshed(isKnown), log);
    this.#fetcher = new Fetcher({
      brokers,
      partitions: this.#partitions,
      prefix,
      leaders: this.#leaders,
      refreshLeaders: () => this.#search.refreshSoon(),
      onRecords: (_, partition, records) => this.#give(partition, records),
      onCut: (_, partition) => this.#goOnAfterCut(partition),
      onOutOfRange: (_, partition) => this.#goOnInRange(partition),
      onEnd: (...end) => this.#noteEnd(...end),
      onTurn: (answer, failure) => this.#turned(answer, failure),
      rack: '',
      wait,
      maxBytes: FETCH_BYTES,
      maxBytesPerPartition: PARTITION_BYTES,
      log,
    });
  }

  get completeAt(): number {
    return this.#completeAt;
  }

  /** An unreachable broker does not count as stuck: each failed try is progress. */
  stuck(): string | undefined {
    if (this.#progress.stuck() === undefined) return undefined;
    return (
      `the reader of ${this.options.topic} has made no progress for ` +
      `${Math.round(this.#progress.pollAgeMs)} ms`
    );
  }

  /**
   * Starts reading. Records appended after this has resolved will be seen.
   * @throws AppError `kafka_unavailable`; `cannot_start` if this user may not read the topic
   */
  async start(): Promise<void> {
    const until = performance.now() + START_WITHIN_MS;
    for (;;) {
      try {
        await this.#leaders.refresh();
        this.#leaders.requireRights();
        this.#counted = this.#leaders.count(this.#name);
        await this.#begin();
        if (this.#hasBegun()) break;
        throw new Error(`partitions of ${this.#name} have no leader`);
      } catch (error) {
        const isForbidden = error instanceof AppError;
        if (!isForbidden && performance.now() < until) {
          await sleep(AGAIN_MS);
          continue;
        }
        await this.stop();
        throw isForbidden ? error : unavailable(error);
      }
    }
    this.#fetcher.wake();
    if (this.#missing().length > 0) this.#search.refreshSoon();
  }

  /**
   * A reader of recent records does without the partitions that have no leader; others need every
   * record.
   */
  #mayLack(place: TopicPartition): boolean {
    return typeof this.options.from !== 'string' && this.#leaders.of(place) === undefined;
  }

  #hasBegun(): boolean {
    return this.#counted > 0 && this.#missing().every((place) => this.#mayLack(place));
  }

  /** Returns the partitions of which it is not known where to read. */
  #missing(): TopicPartition[] {
    const all = this.#leaders.placesOf(this.#name);
    return all.filter((place) => !this.#partitions.has(idOf(place)));
  }

  /** Looks up where to read, and begins the partitions whose leaders answer. */
  async #begin(): Promise<void> {
    const { from, topic } = this.options;
    const places = this.#missing();
    const sinceMs = typeof from === 'string' ? undefined : from.sinceMs;
    const bounds = await this.#leaders.allBounds(this.#name, sinceMs);
    for (const place of places) {
      const known = bounds.get(place.number);
      if (known === undefined) continue;
      const isLater = place.number >= this.#counted;
      const start = isLater ? 0 : startAt(from, known, this.#counted);
      const partition = new Partition(topic, place.number, start);
      this.#partitions.set(idOf(place), partition);
      this.#ends.set(partition, {
        floor: 0,
        era: undefined,
        isLooking: false,
        completeAt: -Infinity,
      });
    }
  }

  #onRefreshed(isKnown: boolean): void {
    // The brokers answer, or cannot be reached: this process is not stuck.
    if (!isKnown || this.#leaders.isIncomplete) this.#progress.recordPoll();
    this.#fetcher.wake();
    if (this.#missing().length > 0 && !this.#isBeginning) void this.#beginMissing();
  }

  async #beginMissing(): Promise<void> {
    this.#isBeginning = true;
    await this.#begin();
    this.#isBeginning = false;
    this.#fetcher.wake();
    if (this.#missing().length > 0) this.#search.refreshSoon();
  }

  #turned(answer: FetchAnswer | undefined, failure: unknown): void {
    if (!answer || answer.throttleMs > 0) this.#progress.recordPoll();
    const { log, name, topic } = this.options;
    if (failure !== undefined && this.#interruptedAt === undefined) {
      this.#interruptedAt = performance.now();
      log.warn({ name, topic, reason: messageOf(failure) }, 'tail.interrupted');
    }
    if (this.#search.ageMs > METADATA_MAX_AGE_MS) this.#search.refreshSoon();
  }

  #give(partition: Partition, records: readonly FetchedRecord[]): void {
    // An idle process may learn only here that the brokers' clock has gone ahead.
    brokerClock.read(records.at(-1)?.timestamp ?? 0);
    this.#progress.recordPoll();
    for (const record of records) {
      try {
        this.options.onRecord(new ConsumedRecord(partition, record));
      } catch (error) {
        this.options.onFatal(error);
      }
    }
  }

  #noteEnd(partition: Partition, highWatermark: number, begunAt: number): void {
    this.#wake();
    const end = this.#ends.get(partition);
    if (!end) return;
    const { next, era } = partition.position;
    if (end.era !== era) void this.#findFloor(partition, end);
    else if (highWatermark <= next && this.#hasReached(partition, end.floor)) {
      this.#progress.recordPoll();
      end.completeAt = begunAt;
      this.#advance();
    }
  }

  /** Looks up the end that the position must reach, because the log may have changed. */
  async #findFloor(partition: Partition, end: End): Promise<void> {
    if (end.isLooking) return;
    end.isLooking = true;
    const { era } = partition.position;
    const place = placeOf(partition, this.options.prefix);
    const askedAt = performance.now();
    const found = await this.#leaders.offsets([place], LATEST);
    end.isLooking = false;
    const floor = found.get(idOf(place));
    if (floor === undefined) {
      this.#progress.recordPoll();
      this.#search.refreshSoon();
      this.#fetcher.hurry();
    } else if (era === partition.position.era) {
      end.floor = floor;
      end.era = era;
      if (this.#hasReached(partition, floor)) this.#complete([partition], askedAt);
    }
  }

  #hasReached({ position }: Partition, end: number): boolean {
    return !position.expectsRecord && position.next >= end;
  }

  /** Notes that everything that the partitions held at a time is known. */
  #complete(partitions: Iterable<Partition>, atMs: number): void {
    for (const partition of partitions) {
      const end = this.#ends.get(partition);
      if (end) end.completeAt = Math.max(end.completeAt, atMs);
    }
    this.#advance();
  }

  #advance(): void {
    let completeAt = Infinity;
    const count = this.#leaders.count(this.#name);
    if (count === 0 || this.#missing().length > 0) return;
    for (const [{ number }, end] of this.#ends) {
      // A topic may be made again with fewer partitions.
      if (number < count) completeAt = Math.min(completeAt, end.completeAt);
    }
    if (completeAt > (this.#interruptedAt ?? Infinity)) this.#interruptedAt = undefined;
    const isAnew = this.#startsOver && completeAt > -Infinity;
    if (completeAt <= this.#completeAt && !isAnew) return;
    this.#startsOver = false;
    this.#completeAt = Math.max(this.#completeAt, completeAt);
    this.options.onComplete?.();
  }

  /** The log holds other records than those that were read: it was cut, or its topic made again. */
  async #goOnAfterCut(partition: Partition): Promise<void> {
    const { name, topic, log } = this.options;
    const startsOver = this.options.onStartOver !== undefined;
    const { position } = partition;
    const found = await this.#lookUp(partition, async (place) => {
      const end = await this.#leaders.endOfKnown(place, position.last);
      return { end, low: (await this.#leaders.boundsOf(place)).low };
    });
    if (found === undefined) return;
    const offsets = position.cutOff(found.end);
    const from = startsOver ? found.low : found.end;
    log.error({ name, topic, partition: partition.number, offsets, from }, 'tail.log_cut');
    meterCut(name, topic, offsets);
    partition.position = startsOver ? new Position(from) : Position.afterCut(from, position.last);
    if (!startsOver) return;
    const end = this.#ends.get(partition);
    if (end) end.completeAt = -Infinity;
    this.#startsOver = true;
    this.options.onStartOver?.();
  }

  /** A fetch found no record in its place: retention has deleted it, or the log was cut. */
  async #goOnInRange(partition: Partition): Promise<void> {
    const { position } = partition;
    const { leastEnd } = position;
    const bounds = await this.#lookUp(partition, (place) => this.#leaders.boundsOf(place));
    if (bounds === undefined) return;
    if (leastEnd > bounds.high) return this.#goOnAfterCut(partition);
    position.skipTo(bounds.low);
  }

  #lookUp<T>(
    partition: Partition,
    ask: (place: TopicPartition) => Promise<T>,
  ): Promise<T | undefined> {
    const { log, name, prefix } = this.options;
    return lookUp(
      () => ask(placeOf(partition, prefix)),
      () => !this.#stopped,
      (error) => {
        this.#progress.recordPoll();
        this.#search.refreshSoon();
        log.debug({ name, reason: messageOf(error) }, 'tail.not_recovered');
      },
    );
  }

  async caughtUp(deadlineMs: number): Promise<void> {
    const until = performance.now() + deadlineMs;
    for (;;) {
      const askedAt = performance.now();
      const ends = await withDeadline(until - askedAt, this.#findEnds(until));
      // The end of a log that was cut since says nothing about the log that is read now.
      const isPresent = () =>
        [...ends].every(([partition, { position }]) => partition.position === position);
      const isReached = () =>
        [...ends].every(([partition, { end }]) => this.#hasReached(partition, end));
      while (isPresent() && !isReached()) {
        await withDeadline(until - performance.now(), this.#woken());
      }
      if (isPresent()) {
        this.#complete(ends.keys(), askedAt);
        return;
      }
    }
  }

  /** Looks up the ends of all partitions; those that this reader does without may be left out. */
  async #findEnds(until: number): Promise<Map<Partition, LogEnd>> {
    for (;;) {
      const count = this.#leaders.count(this.#name);
      const read = [...this.#partitions.values()]
        .filter(({ number }) => number < count)
        .map((partition) => {
          const { position } = partition;
          const place = placeOf(partition, this.options.prefix);
          return { partition, position, next: position.next, place };
        });
      const places = read.map(({ place }) => place);
      const found = await this.#leaders.offsets(places, LATEST);
      const ends = new Map<Partition, LogEnd>();
      for (const { partition, position, next, place } of read) {
        const end = found.get(idOf(place));
        if (end === undefined) continue;
        ends.set(partition, { position, end });
        // The log is shorter than what was read of it, and this process has not noticed it yet.
        if (end < next) partition.position.doubt();
      }
      this.#fetcher.wake();
      const isKnown = places.every((place) => found.has(idOf(place)) || this.#mayLack(place));
      if (count > 0 && isKnown && this.#hasBegun()) return ends;
      if (this.#stopped || performance.now() > until) {
        throw unavailable(new Error(`the end of ${this.#name} is not known`));
      }
      this.#search.refreshSoon();
      await sleep(AGAIN_MS);
    }
  }

  expectSoon(): void {
    if (!this.#fetcher.hurry() || this.#findingEnd) return;
    const end = () => void (this.#findingEnd = undefined);
    this.#findingEnd = this.caughtUp(GOODBYE_MS).then(end, end);
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#search.stop();
    this.#fetcher.stop();
    await withTimeout(GOODBYE_MS, this.options.brokers.disconnect()).catch(() => undefined);
  }
}

/**
 * Returns where to begin.
 * @param bounds from the start time on, if there is one
 * @param partitions their number, which share the most records
 */
function startAt(from: TailOptions['from'], { low, high }: Bounds, partitions: number): number {
  if (from === 'beginning') return low;
  if (from === 'end') return high;
  const most = Math.ceil(from.atMost / partitions);
  return Math.max(low, high - most);
}
