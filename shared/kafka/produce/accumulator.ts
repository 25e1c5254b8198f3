import { meterSpilled } from '../metrics';
import { type OutRecord } from '../port';
import {
  RequestSlots,
  type AccumulatorOptions,
  type Answered,
  Closed,
  MAX_REQUEST_BYTES,
  type QueuePart,
  type Refused,
  type Request,
  RequestDrafts,
} from './request';
import { NO_LEADER, type ProduceError, produceError, type Blocked } from './errors';
import { isSettled, type PartitionQueue, placeOf, type QueuedRecord } from './partition-queue';
import { NO_NODE, type TopicMetadata } from '../protocol/metadata-request';
import { BlockedPartitions, TopicTable } from './topic-queues';

/**
 * Chooses the records of the next requests, and applies each answer. It does no I/O and has no
 * clock: times are in ms, by `performance.now()`.
 *
 * Each leader has one request in flight, and a second one for failing partitions, so that a
 * partition that is slow to refuse delays no other.
 */

/**
 * Node cuts the delay of a timer to whole ms. Without this, each linger would wait for a second
 * timer.
 */
const TIMER_EARLY_MS = 1;

export class RecordAccumulator {
  readonly #topics = new TopicTable();
  /** queues with records that are not in flight */
  readonly #ready = new Set<PartitionQueue>();
  readonly #slots: RequestSlots;
  readonly #blocked = new BlockedPartitions();
  #bytes = 0;
  /** The metadata may be wrong. */
  stale = false;

  constructor(private readonly options: AccumulatorOptions) {
    this.#slots = new RequestSlots(options);
  }

  /** Stops lingering, because the process ends. */
  hurry(): void {
    this.#slots.hurry();
  }

  /** size of all records */
  get bytes(): number {
    return this.#bytes;
  }

  /** the same without the allowance of blocked partitions */
  get countedBytes(): number {
    if (this.#blocked.size === 0) return this.#bytes;
    return this.#bytes - this.#blocked.allowedBytes;
  }

  get topics(): Iterable<string> {
    return this.#topics.names;
  }

  get isBlocked(): boolean {
    return this.#blocked.size > 0;
  }

  /**
   * Lists blocked partitions and topics. A partition that has held no record for 30 s is omitted.
   */
  *blocked(now: number): Generator<Blocked> {
    yield* this.#topics.blocked();
    yield* this.#blocked.list(now);
  }

  /**
   * Finds the queue of a record.
   * @returns undefined if its partition is not in the metadata; `Closed` if no partition takes it
   *   and the caller does not wait
   */
  find(record: OutRecord, now: number): PartitionQueue | Closed | undefined {
    const topic = this.#topics.of(record.topic);
    const queue = topic.queueOf(record);
    const error = queue?.backoff.error;
    if (!error || !this.options.spillToOtherPartitions || record.partition !== undefined) {
      return queue;
    }
    const { blocked } = queue.backoff;
    if (!blocked && !queue.isSlow(now)) return queue;
    // One request at a time shows whether the partition takes records again.
    if (queue.isEmpty && now >= queue.backoff.notBefore) return queue;
    const neighbour = error.fate === 'refused' ? undefined : this.#topics.neighbourOf(queue, now);
    if (neighbour) meterSpilled(topic.name, 1);
    return (
      neighbour ?? (this.options.holds || !blocked ? queue : new Closed(placeOf(queue), error))
    );
  }

  /** Adds a record. @returns when a request for it may start (Infinity: after the next answer) */
  push(item: QueuedRecord, queue: PartitionQueue | undefined): number {
    this.#bytes += item.bytes;
    if (queue === undefined) {
      this.#topics.of(item.record.topic).hold(item);
      this.stale = true;
      return 0;
    }
    queue.push(item);
    if (!queue.isSending) this.#ready.add(queue);
    return Math.max(queue.backoff.notBefore, this.#slots.freeAt(queue, this.#isPlenty));
  }

  /**
   * Starts the requests that are due. @returns them, the records that are withdrawn because they
   * are void, and when to call again (Infinity: after the next answer)
   */
  next(now: number): { requests: Request[]; withdrawn: QueuedRecord[]; wakeAt: number } {
    const drafts = new RequestDrafts();
    const withdrawn: QueuedRecord[] = [];
    let wakeAt = Infinity;
    for (const queue of this.#ready) {
      if (queue.backoff.notBefore > now) {
        wakeAt = Math.min(wakeAt, queue.backoff.notBefore);
        continue;
      }
      if (queue.leader === NO_NODE) {
        this.#fail(queue, NO_LEADER, now);
        wakeAt = Math.min(wakeAt, queue.backoff.notBefore);
        continue;
      }
      const freeAt = this.#slots.freeAt(queue, this.#isPlenty);
      if (freeAt - now >= TIMER_EARLY_MS) {
        wakeAt = Math.min(wakeAt, freeAt);
        continue;
      }
      withdrawn.push(...this.#withdrawVoid(queue));
      if (queue.waiting === 0) this.#ready.delete(queue);
      else if (drafts.add(this.#slots.nameOf(queue), queue, now)) this.#ready.delete(queue);
    }
    const { requests } = drafts;
    for (const request of requests) this.#slots.begin(request, now);
    return { requests, withdrawn, wakeAt };
  }

  /** Applies the answer to a request. @param codes error codes of the parts, in their order */
  answered(request: Request, codes: readonly number[], now: number): Answered {
    this.#slots.end(request, now);
    const answered: Answered = { acknowledged: [], refused: [] };
    for (const [i, part] of request.parts.entries()) {
      const code = codes[i] ?? -1;
      if (code === 0) this.#acknowledge(part, answered);
      else this.#answer(part.queue, produceError(code), { answered, now });
    }
    if (answered.acknowledged.length > 0) this.#retry(this.#topics.brokerAnswered(request.node));
    return answered;
  }

  /** Takes back a request that was not sent although its broker can be reached. */
  notSent(request: Request, now: number): void {
    this.#slots.end(request, now);
    for (const { queue } of request.parts) {
      queue.notSent();
      this.#ready.add(queue);
    }
  }

  /** Applies the failure of a request that was not sent, or whose result is unknown. */
  failed(request: Request, error: ProduceError, now: number): void {
    this.#slots.end(request, now);
    this.stale = true;
    this.#topics.brokerFailed(request.node, now);
    for (const { queue } of request.parts) this.#fail(queue, error, now);
  }

  /** Applies new metadata. @returns the records to return to their callers */
  learned(topics: ReadonlyMap<string, TopicMetadata>, startedAt: number, now: number): Refused[] {
    this.stale = false;
    const refused: Refused[] = [];
    for (const topic of this.#topics.all()) {
      for (const queue of topic.learned(topics.get(topic.name), startedAt, now)) {
        this.#blocked.delete(queue);
        this.#ready.delete(queue);
      }
      for (const queue of topic.queues) if (!queue.backoff.blocked) this.#blocked.delete(queue);
      if (topic.backoff.error === undefined && topic.unplaced === 0) continue;
      for (const item of topic.withdraw(({ record }) => topic.queueOf(record) !== undefined)) {
        this.#bytes -= item.bytes;
        this.push(item, topic.queueOf(item.record));
      }
      const { blocked, error } = topic.backoff;
      if (
        blocked &&
        error &&
        (error.fate === 'record' || (error.fate === 'refused' && !this.options.holds))
      ) {
        const from = error.fate === 'record' ? [topic] : [topic, ...topic.queues];
        const items = from.flatMap((queue) => queue.withdraw(() => true));
        this.#giveBack(items, { place: topic.name, error, refused });
      }
      if (topic.unplaced > 0 || topic.backoff.error !== undefined) this.stale = true;
    }
    return refused;
  }

  /** Drops the records for which no caller waits any more. */
  dropSettled(): void {
    for (const { bytes } of this.#topics.withdrawSettled()) this.#bytes -= bytes;
    for (const queue of this.#ready) if (queue.waiting === 0) this.#ready.delete(queue);
  }

  /** A record that may have been written is written. */
  #withdrawVoid(queue: PartitionQueue): QueuedRecord[] {
    const items = queue.withdraw(({ record, unsure }) => !unsure && record.isVoid?.() === true);
    for (const { bytes } of items) this.#bytes -= bytes;
    return items;
  }

  get #isPlenty(): boolean {
    // Called for each record: the blocked partitions are counted only when they can matter.
    return this.#bytes >= MAX_REQUEST_BYTES && this.countedBytes >= MAX_REQUEST_BYTES;
  }

  #acknowledge({ queue }: QueuePart, { acknowledged }: Answered): void {
    this.#blocked.delete(queue);
    const items = queue.acknowledged();
    for (const { bytes } of items) this.#bytes -= bytes;
    acknowledged.push({ queue, items });
    if (queue.waiting > 0) this.#ready.add(queue);
  }

  #answer(
    queue: PartitionQueue,
    error: ProduceError,
    { answered, now }: { answered: Answered; now: number },
  ): void {
    if (error.fate === 'record') {
      this.#blocked.delete(queue);
      const item = queue.refused();
      if (item) this.#giveBack([item], { place: placeOf(queue), error, refused: answered.refused });
      if (queue.waiting > 0) this.#ready.add(queue);
      return;
    }
    if (error.fate === 'unsure') this.stale = true;
    this.#fail(queue, error, now);
    if (error.fate === 'refused' && queue.backoff.blocked && !this.options.holds) {
      this.#giveBack(
        queue.withdraw(() => true),
        { place: placeOf(queue), error, refused: answered.refused },
      );
      this.#ready.delete(queue);
    }
  }

  #fail(queue: PartitionQueue, error: ProduceError, now: number): void {
    if (error === NO_LEADER) this.stale = true;
    queue.failed(error, now);
    for (const { bytes } of queue.withdraw(isSettled)) this.#bytes -= bytes;
    if (queue.backoff.blocked) {
      this.#blocked.add(queue);
      if (this.options.spillToOtherPartitions && error.fate !== 'refused') this.#spill(queue, now);
    }
    if (queue.waiting > 0) this.#ready.add(queue);
    else this.#ready.delete(queue);
  }

  /**
   * Retries the partitions of a broker that is back immediately, before any of their records
   * spills.
   */
  #retry(queues: readonly PartitionQueue[]): void {
    for (const queue of queues) {
      queue.backoff.retry();
      this.#blocked.delete(queue);
    }
  }

  /** Moves records that are certainly not written to a partition that takes them. */
  #spill(queue: PartitionQueue, now: number): void {
    const to = this.#topics.neighbourOf(queue, now);
    if (!to) return;
    const items = queue.withdraw(({ unsure, record }) => !unsure && record.partition === undefined);
    for (const item of items) to.push(item);
    if (items.length > 0) meterSpilled(queue.topic, items.length);
    if (to.waiting > 0 && !to.isSending) this.#ready.add(to);
  }

  #giveBack(
    items: readonly QueuedRecord[],
    by: { place: string; error: ProduceError; refused: Refused[] },
  ): void {
    for (const item of items) {
      this.#bytes -= item.bytes;
      by.refused.push({ item, place: by.place, error: by.error });
    }
  }
}
