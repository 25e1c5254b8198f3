import { type Producer } from 'kafkajs';
import { atMost } from '../at-most';
import { AppError, messageOf } from '../errors';
import { type Log } from '../telemetry/log';
import { type AppenderMeter, meterAppender } from './meters';
import { type Appender, type AppenderOptions, type OutRecord } from './port';

/**
 * Writes records in few, large requests (kafkajs has no linger of its own): at once while nothing is in flight, so that
 * an idle system adds no delay; gathered while something is, so that a busy one makes big batches.
 *
 * Invariant: an `append` is resolved only by Kafka's acknowledgement of each of its records; what a request failed to
 * write stays at the head of the queue, in order, until it is written or its caller has given up.
 */

/** A broker refuses a batch over 1 MB for a partition, and kafkajs never splits one: a request stays below as a whole. */
const MAX_REQUEST_BYTES = 900_000;
const MAX_REQUEST_RECORDS = 2_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** What a record costs beside key, value and headers. */
const RECORD_OVERHEAD_BYTES = 64;

/** One `append` in progress. */
interface Ticket {
  left: number;
  at: number;
  settled: boolean;
  resolve(): void;
  reject(error: Error): void;
}

interface Waiting {
  record: OutRecord;
  bytes: number;
  ticket: Ticket;
}

export class KafkaAppender implements Appender {
  #queue: Waiting[] = [];
  #pendingBytes = 0;
  #flushing: Promise<void> | undefined;
  #oldest: Ticket[] = [];
  #expiry: NodeJS.Timeout | undefined;
  #closing = false;
  /** when the last request was begun */
  #begunAt = -Infinity;
  readonly #meter: AppenderMeter;

  constructor(
    private readonly producer: Producer,
    private readonly prefix: string,
    private readonly options: AppenderOptions,
    private readonly log: Log,
  ) {
    this.#meter = meterAppender(this, options);
    if (options.giveUpAfterMs !== 'retry') {
      this.#expiry = setInterval(() => this.#giveUpOnOld(), Math.min(250, options.giveUpAfterMs)).unref();
    }
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  get oldestPendingAt(): number | undefined {
    this.#dropSettled();
    return this.#oldest[0]?.at;
  }

  append(records: OutRecord[]): Promise<void> {
    if (records.length === 0) return Promise.resolve();
    const waiting: Waiting[] = [];
    let bytes = 0;
    for (const record of records) {
      const size = sizeOf(record);
      bytes += size;
      waiting.push({ record, bytes: size, ticket: undefined as unknown as Ticket });
    }
    if (this.#closing || (this.#pendingBytes > 0 && this.#pendingBytes + bytes > this.options.maxPendingBytes)) {
      const why = this.#closing ? 'this process is stopping' : 'the buffer before Kafka is full';
      return Promise.reject(new AppError('overloaded', `${why}; try again shortly`, true));
    }
    this.#pendingBytes += bytes;
    return new Promise((resolve, reject) => {
      const ticket: Ticket = { left: records.length, at: Date.now(), settled: false, resolve, reject };
      for (const item of waiting) {
        item.ticket = ticket;
        this.#queue.push(item);
      }
      this.#oldest.push(ticket);
      this.#flushing ??= this.#flush();
    });
  }

  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    if (this.#flushing) await atMost(deadlineMs, this.#flushing);
    clearInterval(this.#expiry);
    this.#meter.end();
    await this.producer.disconnect();
  }

  /** The only writer: one request in flight, until the queue is empty. */
  async #flush(): Promise<void> {
    // Callers of the same turn of the event loop share the first request.
    await Promise.resolve();
    let pauseMs = FIRST_PAUSE_MS;
    while (this.#queue.length > 0) {
      await this.#gather();
      const batch = this.#nextBatch();
      try {
        await this.#send(batch);
        pauseMs = FIRST_PAUSE_MS;
        this.#settle(batch);
      } catch (error) {
        if (tooLarge(error)) {
          await this.#sendOneByOne(batch);
          continue;
        }
        this.log.warn({ reason: messageOf(error), records: batch.length }, 'append.failed');
        this.#queue = [...batch, ...this.#queue].filter((item) => this.#stillWanted(item));
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
    this.#flushing = undefined;
  }

  async #gather(): Promise<void> {
    const leftMs = this.#begunAt + (this.options.gatherMs ?? 0) - performance.now();
    if (leftMs > 0 && this.#pendingBytes < MAX_REQUEST_BYTES && !this.#closing) {
      await new Promise((resolve) => setTimeout(resolve, leftMs));
    }
    this.#begunAt = performance.now();
  }

  #nextBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const item of this.#queue) {
      if (count > 0 && (bytes + item.bytes > MAX_REQUEST_BYTES || count === MAX_REQUEST_RECORDS)) break;
      bytes += item.bytes;
      count++;
    }
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  async #send(batch: Waiting[]): Promise<void> {
    const byTopic = new Map<string, OutRecord[]>();
    for (const { record } of batch) {
      const records = byTopic.get(record.topic);
      if (records) records.push(record);
      else byTopic.set(record.topic, [record]);
    }
    const sending = this.producer.sendBatch({
      acks: -1,
      topicMessages: [...byTopic].map(([topic, messages]) => ({
        topic: this.prefix + topic,
        // An OutRecord is a kafkajs message but for `topic`, which it ignores: no copy per record.
        messages,
      })),
    });
    await this.#meter.sent(byTopic, sending);
  }

  /** One record that the broker finds too large must not take its neighbours with it. */
  async #sendOneByOne(batch: Waiting[]): Promise<void> {
    for (const item of batch) {
      try {
        await this.#send([item]);
        this.#settle([item]);
      } catch (error) {
        if (tooLarge(error)) {
          this.#pendingBytes -= item.bytes;
          item.ticket.settled = true;
          item.ticket.reject(
            new AppError('overloaded', 'a record is larger than the broker takes', false, { cause: error }),
          );
        } else {
          this.#queue.push(item);
        }
      }
    }
  }

  #settle(batch: Waiting[]): void {
    for (const { ticket, bytes } of batch) {
      this.#pendingBytes -= bytes;
      if (--ticket.left === 0 && !ticket.settled) {
        ticket.settled = true;
        ticket.resolve();
      }
    }
    this.#dropSettled();
  }

  #dropSettled(): void {
    let settled = 0;
    while (this.#oldest[settled]?.settled) settled++;
    if (settled > 0) this.#oldest.splice(0, settled);
  }

  /** What nobody waits for any more is not written again; what is in flight may still land. */
  #stillWanted(item: Waiting): boolean {
    if (!item.ticket.settled) return true;
    this.#pendingBytes -= item.bytes;
    return false;
  }

  #giveUpOnOld(): void {
    if (this.options.giveUpAfterMs === 'retry') return;
    const oldest = Date.now() - this.options.giveUpAfterMs;
    for (const ticket of this.#oldest) {
      if (ticket.at > oldest) break;
      if (ticket.settled) continue;
      ticket.settled = true;
      ticket.reject(new AppError('kafka_unavailable', 'Kafka did not acknowledge in time; try again', true));
    }
    this.#dropSettled();
  }
}

function tooLarge(error: unknown): boolean {
  const type = (error as { type?: unknown; cause?: { type?: unknown } } | null)?.type;
  return type === 'MESSAGE_TOO_LARGE' || type === 'RECORD_LIST_TOO_LARGE';
}

function sizeOf(record: OutRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + (record.key?.length ?? 0);
  if (record.value !== null)
    bytes += typeof record.value === 'string' ? Buffer.byteLength(record.value) : record.value.length;
  for (const name in record.headers) bytes += name.length + (record.headers[name]?.length ?? 0) + 2;
  return bytes;
}
