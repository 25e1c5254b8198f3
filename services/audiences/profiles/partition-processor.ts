import {
  type BatchProducer,
  type DispatchResult,
  type Kafka,
  type OpenRecord,
  type Restart,
} from '../../../shared/kafka/port';
import { isBehind } from '../../../shared/kafka/record-name';
import { retryingReads } from '../../../shared/kafka/scan';
import { sleep, withTimeout } from '../../../shared/runtime/async';
import { type Definitions } from '../definitions/compile';
import { type Snapshot } from '../queries/preview';
import { EventLog } from '../repartition/event';
import { type Report, reportOf } from '../status';
import { type Checkpoints } from './checkpoints';
import { recallCalls } from './counted-calls';
import { type Engine } from './engine';
import { EventQueue, type EventQueueOptions, type Queued } from './event-queue';
import { untilUpload } from './partition-state';
import { openPartition, type OpenOptions } from './restore';
import { type Store } from './store';
import { Syncs } from './syncs';
import { StepWriter } from './write-step';

/**
 * Processes one partition of profiles while this process owns it.
 *
 * Invariant: one step at a time, and an event is done after all writes of its step (write-step.ts).
 * After a crash, unwritten changes are computed again from the written ones, and messages that may
 * not have arrived are sent again with their ids and values.
 */
export interface PartitionProcessorOptions extends EventQueueOptions, OpenOptions {
  producer: BatchProducer;
  /** as `kafka`, but a read throws while Kafka is away */
  tryingKafka: Pick<Kafka, 'read' | 'ranges' | 'committed'>;
  onFatal: (error: unknown) => void;
}

/**
 * Events of one step. A step must be written before the next one begins, and other partitions run
 * in between.
 */
const CHUNK = 500;
const TICK_MS = 100;
/**
 * A process that still owns the partition this time (several sessions) after another one began a
 * later term opens its store again, and begins a term behind that one.
 */
const DOUBT_MS = 30_000;

/** The parts of a partition whose store is open. */
interface OpenParts {
  store: Store;
  engine: Engine;
  checkpoints: Checkpoints;
  writer: StepWriter;
  /** ends of `messages` at the start; nothing is sent before everything below them is counted */
  ends: readonly number[];
  ready: boolean;
  adopted: Definitions | undefined;
  syncs: Syncs;
}

export class PartitionProcessor {
  readonly closed: Promise<void>;
  readonly #queue: EventQueue;
  /**
   * the store is compared with the changelog again: a log may have been cut, or another process
   * writes as well
   */
  #reopens = false;
  #isOvertaken = false;
  #closing = false;
  #lost = false;
  #wake: () => void = () => undefined;
  /** undefined before the store opens, and after it begins to close */
  #parts: OpenParts | undefined;
  /** reads again until Kafka is back, or the log was cut */
  readonly #log: EventLog;
  readonly #reads: Pick<Kafka, 'read' | 'ranges'>;
  /** a read of it throws while Kafka is away */
  readonly #tryingLog: EventLog;

  constructor(private readonly options: PartitionProcessorOptions) {
    this.#queue = new EventQueue(options);
    this.#reads = retryingReads(options.tryingKafka, options.log, undefined, this.#stops);
    this.#log = new EventLog(this.#reads, options.partition);
    this.#tryingLog = new EventLog(options.tryingKafka, options.partition);
    this.closed = this.#run().catch((error: unknown) => {
      if (!this.#lost) options.onFatal(error);
    });
  }

  /** Accepts a record, unless the queue is full. */
  offer(record: OpenRecord): DispatchResult {
    const result = this.#queue.offer(record);
    this.#wake();
    return result;
  }

  /**
   * Closes after the queue is written. `lost`: immediately, since another process may own the
   * partition.
   */
  close({ lost }: { lost: boolean }): void {
    this.#closing = true;
    this.#lost ||= lost;
    this.#wake();
  }

  /**
   * Goes on where the partition begins anew: from this offset on the log holds other records, or
   * the same ones come again.
   */
  onRestart({ from, wasCut }: Pick<Restart, 'from' | 'wasCut'>): void {
    this.#queue.dropFrom(from);
    // The store was opened after the assignment, and has what another process wrote before.
    if (!wasCut) return;
    this.#reopens = true;
    this.#wake();
  }

  /** After a lost session: the events accepted and not written. They are not offered again. */
  get unwritten(): readonly Queued[] {
    return this.#queue.all;
  }

  /** Returns the state of all definitions; undefined until the store is open. */
  report(): Report | undefined {
    if (!this.#parts) return undefined;
    const { engine, store, syncs } = this.#parts;
    return reportOf(engine.meta, store, syncs.results);
  }

  /**
   * Returns the state that queries may read; undefined before the store opens and after it begins
   * to close.
   */
  get snapshot(): (Snapshot & { store: Store }) | undefined {
    if (!this.#parts || this.#lost) return undefined;
    const { store, engine, ready } = this.#parts;
    return { store, log: this.#log, ready, next: engine.meta.live.next };
  }

  /** Number of events accepted and not yet counted. */
  get queued(): number {
    return this.#queue.length;
  }

  async #run(): Promise<void> {
    do {
      this.#reopens = false;
      this.#isOvertaken = false;
      try {
        await this.#runStore();
      } catch (error) {
        if (!this.#mustReopen()) throw error;
      }
      await this.#waitForLoss();
    } while (this.#mustReopen() && !this.#lost);
  }

  /**
   * Once overtaken, waits until this process learns that it has lost the partition, or seems to
   * have it after all.
   */
  async #waitForLoss(): Promise<void> {
    if (!this.#isOvertaken) return;
    const { now } = this.options;
    const untilMs = now() + DOUBT_MS;
    while (now() < untilMs && !this.#closing) await sleep(TICK_MS);
    // Its successor reads the queue itself.
    if (this.#closing) this.#reopens = false;
  }

  /**
   * Opens the store, and processes events until the partition closes or the store must be replaced.
   */
  async #runStore(): Promise<void> {
    const { end, startedAt, rewrite, lostDeletions, ...opened } = await openPartition(this.options);
    opened.engine.readUntilMs = startedAt;
    const writer = new StepWriter(opened, {
      ...this.options,
      isLost: this.#isLost,
      isOvertaken: async () => {
        if (await opened.checkpoints.isOvertaken()) this.#standBack();
        return this.#isOvertaken;
      },
    });
    const parts = (this.#parts = {
      ...opened,
      writer,
      ready: false,
      adopted: undefined,
      syncs: new Syncs(CHUNK),
    });
    try {
      await writer.write(opened.engine.rewrite(rewrite, startedAt));
      for (let i = 0; i < lostDeletions.length; i += CHUNK) {
        await writer.write(opened.engine.forget(lostDeletions.slice(i, i + CHUNK), startedAt));
      }
      await writer.sendUnsent();
      await recallCalls(this.#reads, parts.engine, {
        ...this.options,
        isLost: this.#stops,
      });
      await this.#catchUp(parts, end);
      while (!this.#stops() && !(this.#closing && this.#queue.length === 0)) {
        if (!(await this.#round(parts))) await this.#waitForWork();
      }
    } finally {
      // Queries must not read the store any more.
      this.#parts = undefined;
      await parts.store.close();
    }
  }

  /** Counts the events that the previous owner had counted after its last changelog record. */
  async #catchUp(parts: OpenParts, end: number): Promise<void> {
    const { engine, writer } = parts;
    while (engine.meta.live.next < end && !this.#stops()) {
      const { records, done } = await this.#log.read(engine.meta.live.next, end);
      const next = untilUpload(records, (record) => record);
      await writer.write(
        done ? engine.skip(end, this.options.now()) : engine.apply(next, this.options.now()),
      );
      await this.#applyUploads(parts);
    }
  }

  /** Performs one step of each kind. @returns whether there was any work */
  async #round(parts: OpenParts): Promise<boolean> {
    const { engine, writer, ends, syncs } = parts;
    const { now, progress, partition } = this.options;
    let busy = await this.#applyNext(parts);
    if (this.#closing) return busy;
    await this.#adopt(parts);
    await this.#applyUploads(parts);
    busy = (await this.#fill(parts)) || busy;
    if (!parts.ready) {
      await progress.refresh();
      parts.ready = progress.covers(ends, partition, engine.meta.live.next);
    }
    if (parts.ready) {
      const nowMs = now();
      if (engine.meta.scan || syncs.runs(engine, nowMs)) await this.#noteReadUntil(parts);
      const scan = engine.scan(nowMs, CHUNK);
      if (scan) syncs.count(scan);
      busy = (await writer.write(scan)) || busy;
      busy = (await writer.write(syncs.next(engine, nowMs))) || busy;
    }
    await this.#checkpoint(parts);
    return busy;
  }

  async #applyNext(parts: OpenParts): Promise<boolean> {
    const { engine, writer } = parts;
    const next = untilUpload(this.#queue.all.slice(0, CHUNK), ({ incoming }) => incoming);
    if (next.length === 0) return false;
    const incoming = next
      .map((each) => each.incoming)
      .filter((record) => isBehind(record, engine.meta.live.last));
    if (incoming.length > 0) await writer.write(engine.apply(incoming, this.options.now()));
    await this.#applyUploads(parts);
    if (this.#lost) return false;
    this.#queue.done(next);
    engine.readUntilMs = Math.max(engine.readUntilMs, next.at(-1)?.atMs ?? 0);
    return true;
  }

  /**
   * Notes how far the profiles are, before values are made of them. An empty queue says nothing:
   * the partition may not be readable, or this process may have stood still. While it is not
   * readable, values are as old as what was read, and a processor that closes does not wait for it.
   */
  async #noteReadUntil({ engine }: OpenParts): Promise<void> {
    const askedAt = this.options.now();
    const next = Math.max(engine.meta.live.next, this.#queue.next);
    if (this.#queue.length > 0) return;
    const isAtEnd = await this.#tryingLog.endsAt(next).catch(() => false);
    if (isAtEnd) engine.readUntilMs = askedAt;
  }

  async #adopt(parts: OpenParts): Promise<void> {
    const { engine, writer } = parts;
    const definitions = this.options.definitions();
    const waiting = engine.waits;
    if (definitions === parts.adopted && !waiting) return;
    if (waiting) await this.options.progress.refresh();
    await writer.write(engine.adopt(definitions, this.options.now()));
    parts.adopted = definitions;
  }

  /** Applies the uploads of members whose end was read. */
  async #applyUploads({ engine, writer }: OpenParts): Promise<void> {
    const { now } = this.options;
    for (let { upload } = engine; upload; { upload } = engine) {
      for (let next = upload.from; next < upload.to;) {
        const read = await this.#log.read(next, upload.to);
        if (this.#stops()) return;
        await writer.write(engine.list(upload, read.records, now()));
        next = read.next;
      }
      if (this.#stops()) return;
      await writer.write(engine.listed(upload, now()));
    }
  }

  async #fill({ engine, writer }: OpenParts): Promise<boolean> {
    const { fill, live } = engine.meta;
    if (!fill) return false;
    const { records, done } = await this.#log.read(fill.cursor.next, live.next);
    return writer.write(engine.fill(records, done, this.options.now()));
  }

  async #checkpoint({ store, engine, checkpoints, writer }: OpenParts): Promise<void> {
    const found = await checkpoints.next();
    if (found === undefined || this.#lost) return;
    if (found === 'cut') this.#reopens = true;
    else if (found === 'overtaken') this.#standBack();
    else if ('checkpoint' in found) store.setCheckpoint(found.checkpoint);
    else await writer.write(engine.rewrite(found.rewrite, this.options.now()));
  }

  #standBack(): void {
    this.#isOvertaken = true;
    this.#reopens = true;
  }

  /** A function, because the partition may be lost during an await. */
  #isLost = () => this.#lost;

  #stops = () => this.#lost || this.#reopens;

  #mustReopen = () => this.#reopens;

  async #waitForWork(): Promise<void> {
    if (this.#closing) return;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#queue.length > 0) this.#wake();
    await withTimeout(TICK_MS, woken);
  }
}
