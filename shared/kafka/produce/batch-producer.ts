import { withTimeout } from '../../runtime/async';
import { AppError, messageOf } from '../../runtime/errors';
import { type Log } from '../../telemetry/log';
import { sizeOf } from '../protocol/bytes';
import { type ProducerMeter, meterProducer } from '../metrics';
import { type BatchProducer, type BatchProducerOptions, type OutRecord } from '../port';
import { NO_ANSWER, NOT_CONNECTED, type ProduceError, REMEDIES, FailureLog } from './errors';
import { RecordAccumulator } from './accumulator';
import { type PartitionQueue, type QueuedRecord } from './partition-queue';
import { type PendingSend, PendingSends } from './pending-sends';
import { NotSent, type RequestSender, TooLate } from '../client/request-sender';
import { Closed, type Refused, type Request } from './request';

/**
 * Sends records in few, large requests. Without a request in flight it sends immediately, so that
 * an idle system adds no delay; otherwise records are gathered into large batches. `accumulator.ts`
 * chooses the records of each request.
 *
 * Invariants: a `send` resolves only when Kafka has acknowledged each of its records. An
 * acknowledged record is never sent again. The records of a partition are written in the order of
 * their `send` calls.
 */

/** Shortest and longest pause between two metadata refreshes that did not help, ms. */
const FIRST_REFRESH_MS = 50;
const LONGEST_REFRESH_MS = 1_000;
/** New partitions of a topic are used after this time. */
const METADATA_MAX_AGE_MS = 300_000;
/** How often the age of records is looked at. */
const EXPIRY_MS = 250;
/** Overhead of a record beside key, value and headers. */
const RECORD_OVERHEAD_BYTES = 64;
/** A broker that does not answer must not delay the end of the process. */
const GOODBYE_MS = 1_000;

const ignore = () => undefined;

export class KafkaBatchProducer implements BatchProducer {
  readonly #accumulator: RecordAccumulator;
  readonly #meter: ProducerMeter;
  readonly #failures: FailureLog;
  readonly #sends = new PendingSends();
  #scheduled = false;
  #timer: NodeJS.Timeout | undefined;
  /** when `#timer` is due, by `performance.now()`; Infinity without one */
  #wakeAt = Infinity;
  #expiry: NodeJS.Timeout | undefined;
  #refreshing = false;
  #refreshPauseMs = FIRST_REFRESH_MS;
  #refreshNotBefore = 0;
  #refreshedAt = Infinity;
  #closing = false;
  #ended = false;

  constructor(
    private readonly producer: RequestSender,
    private readonly options: BatchProducerOptions,
    log: Log,
  ) {
    const {
      deliveryTimeoutMs,
      spillToOtherPartitions = false,
      lingerMs = 0,
      lingerRequests = Infinity,
    } = options;
    const holds = deliveryTimeoutMs === 'retry';
    const accumulator = new RecordAccumulator({
      spillToOtherPartitions,
      holds,
      lingerMs,
      lingerRequests,
    });
    this.#accumulator = accumulator;
    this.#meter = meterProducer(this, options, () => accumulator.blocked(performance.now()));
    this.#failures = new FailureLog(log);
  }

  get pendingBytes(): number {
    return this.#accumulator.countedBytes;
  }

  get oldestPendingAt(): number | undefined {
    const { oldestAt } = this.#sends;
    return oldestAt === undefined ? undefined : Date.now() - (performance.now() - oldestAt);
  }

  send(records: OutRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    const now = performance.now();
    const ticket: PendingSend = {
      left: records.length,
      at: now,
      settled: false,
      resolve: ignore,
      reject: ignore,
    };
    /** without a queue while its partition is not known */
    const items: { item: QueuedRecord; queue: PartitionQueue | undefined }[] = [];
    let bytes = 0;
    for (const record of records) {
      const queue = this.#accumulator.find(record, now);
      if (queue instanceof Closed) return Promise.reject(refusalOf(queue.place, queue.error));
      const item = { record, bytes: bytesOf(record), ticket, unsure: false };
      bytes += item.bytes;
      items.push({ item, queue });
    }
    const pending = this.#accumulator.countedBytes;
    if (this.#closing || (pending > 0 && pending + bytes > this.options.maxPendingBytes)) {
      const why = this.#closing ? 'this process is stopping' : 'the buffer before Kafka is full';
      return Promise.reject(new AppError('overloaded', `${why}; try again shortly`, true));
    }
    return new Promise((resolve, reject) => {
      Object.assign(ticket, { resolve, reject });
      this.#sends.add(ticket);
      this.#watchAge();
      let freeAt = Infinity;
      for (const { item, queue } of items) {
        freeAt = Math.min(freeAt, this.#accumulator.push(item, queue));
      }
      // An answer, or the timer, starts the next request, unless the timer is due only later.
      if (freeAt <= now || freeAt < this.#wakeAt) this.#schedule();
    });
  }

  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    this.#accumulator.hurry();
    this.#pump();
    if (this.#sends.open > 0) await withTimeout(deadlineMs, this.#sends.drained());
    this.#ended = true;
    clearTimeout(this.#timer);
    clearInterval(this.#expiry);
    this.#meter.end();
    await withTimeout(GOODBYE_MS, this.producer.disconnect());
  }

  /** Callers of the same turn of the event loop share the first request. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = performance.now();
    // A process that was stopped may read an answer before its timers run. What it held meanwhile
    // may have been sent by another process.
    this.#giveUpOnOld(now);
    const { requests, withdrawn, wakeAt } = this.#accumulator.next(now);
    this.#withdraw(withdrawn);
    for (const request of requests) void this.#send(request, now);
    let sleepUntil = wakeAt;
    if (
      (this.#accumulator.stale || now - this.#refreshedAt > METADATA_MAX_AGE_MS) &&
      !this.#refreshing
    ) {
      if (now >= this.#refreshNotBefore) void this.#refresh();
      else sleepUntil = Math.min(sleepUntil, this.#refreshNotBefore);
    }
    this.#wakeAt = sleepUntil;
    if (sleepUntil < Infinity) {
      this.#timer = setTimeout(() => this.#pump(), Math.max(0, sleepUntil - now));
    }
  }

  async #send(request: Request, begunAt: number): Promise<void> {
    const parts = request.parts.map(({ queue: { topic, partition }, items }) => {
      return { topic, partition, messages: items.map(({ record }) => record) };
    });
    try {
      const codes = await this.producer.send(request.node, parts, {
        spare: request.spare,
        before: this.#expiryOf(request),
      });
      const now = performance.now();
      const { acknowledged, refused } = this.#accumulator.answered(request, codes, now);
      this.#meter.answered(acknowledged, now - begunAt);
      for (const { items } of acknowledged) this.#sends.acknowledge(items);
      this.#giveBack(refused);
      if (acknowledged.length < request.parts.length) this.#failures.failed(request);
    } catch (error) {
      const now = performance.now();
      if (error instanceof TooLate) {
        this.#accumulator.notSent(request, now);
      } else {
        const cause = error instanceof NotSent ? NOT_CONNECTED : NO_ANSWER;
        this.#accumulator.failed(request, cause, now);
        this.#meter.failed(now - begunAt);
        this.#failures.failed(request, messageOf(error));
      }
    }
    if (this.#accumulator.isBlocked || this.#failures.isOpen) {
      this.#failures.report(this.#accumulator.blocked(performance.now()));
    }
    this.#pump();
  }

  /** Returns when the oldest record of a request is given up, by `performance.now()`. */
  #expiryOf({ parts }: Request): number {
    const { deliveryTimeoutMs } = this.options;
    if (deliveryTimeoutMs === 'retry') return Infinity;
    let oldestAt = Infinity;
    // The first record of a partition is its oldest.
    for (const { items } of parts) {
      oldestAt = Math.min(oldestAt, items[0]?.ticket.at ?? Infinity);
    }
    return oldestAt + deliveryTimeoutMs;
  }

  async #refresh(): Promise<void> {
    this.#refreshing = true;
    const startedAt = performance.now();
    try {
      const topics = await this.producer.refresh(this.#accumulator.topics);
      this.#refreshedAt = performance.now();
      this.#giveBack(this.#accumulator.learned(topics, startedAt, this.#refreshedAt));
    } catch (error) {
      this.#failures.unknown(messageOf(error));
    }
    this.#refreshing = false;
    this.#refreshPauseMs = this.#accumulator.stale
      ? Math.min(2 * this.#refreshPauseMs, LONGEST_REFRESH_MS)
      : FIRST_REFRESH_MS;
    this.#refreshNotBefore = performance.now() + this.#refreshPauseMs;
    this.#failures.report(this.#accumulator.blocked(performance.now()));
    this.#pump();
  }

  #giveBack(refused: readonly Refused[]): void {
    if (refused.length === 0) return;
    for (const { item, place, error } of refused) {
      if (item.ticket.settled) continue;
      this.#sends.reject(item.ticket, refusalOf(place, error));
      this.#failures.refused(place, error.name);
    }
    this.#accumulator.dropSettled();
    this.#sends.clear();
  }

  #withdraw(items: readonly QueuedRecord[]): void {
    for (const { ticket } of items) {
      if (ticket.settled) continue;
      this.#sends.reject(ticket, new AppError('withdrawn', 'a record has become void', true));
    }
    this.#sends.clear();
  }

  /** Looks for old records while there are any. */
  #watchAge(): void {
    const { deliveryTimeoutMs } = this.options;
    if (this.#expiry || deliveryTimeoutMs === 'retry') return;
    const expire = () => {
      this.#giveUpOnOld(performance.now());
      if (this.#sends.open > 0) return;
      clearInterval(this.#expiry);
      this.#expiry = undefined;
    };
    this.#expiry = setInterval(expire, Math.min(EXPIRY_MS, deliveryTimeoutMs)).unref();
  }

  /** Rejects old records. Kafka may still write those in flight. */
  #giveUpOnOld(now: number): void {
    const { deliveryTimeoutMs } = this.options;
    if (deliveryTimeoutMs === 'retry') return;
    const error = () =>
      new AppError('kafka_unavailable', 'Kafka did not acknowledge in time; try again', true);
    if (!this.#sends.rejectOld(now - deliveryTimeoutMs, error)) return;
    this.#accumulator.dropSettled();
    this.#sends.clear();
  }
}

/** Returns the error for the caller of a record that Kafka does not take. */
function refusalOf(place: string, { name, fate }: ProduceError): AppError {
  const text = `Kafka accepts no records for ${place} (${name})`;
  if (fate === 'record') {
    return new AppError('kafka_refused', `Kafka refuses a record for ${place} (${name})`);
  }
  if (fate !== 'refused') return new AppError('kafka_unavailable', `${text}; try again`, true);
  return new AppError(
    'kafka_refused',
    `${text}; ${REMEDIES.get(name) ?? 'see the log of the broker'}`,
    true,
  );
}

/**
 * Measures the text as it is encoded: an id of three-byte characters takes three times its length.
 */
function bytesOf({ key, value, headers }: OutRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES;
  if (key !== null) bytes += sizeOf(key);
  if (value !== null) bytes += sizeOf(value);
  for (const name in headers) bytes += sizeOf(name) + sizeOf(headers[name] ?? '') + 2;
  return bytes;
}
