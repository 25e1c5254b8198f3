import { type Checkpoints } from './checkpoints';
import { type BatchProducer, type OpenRecord, type DispatchResult } from '../../../shared/kafka/port';
import { newTraceparent } from '../../../shared/telemetry/trace';
import { recallCalls } from './counted-calls';
import { type Definitions } from '../definitions/compile';
import { type Step, type ValueChange } from './change-set';
import { withTimeout } from '../../../shared/service/async';
import { messageOf } from '../../../shared/service/errors';
import { type Engine } from './engine';
import { EventLog } from './event-log';
import { EventQueue, type EventQueueOptions, type Queued } from './event-queue';
import { type Snapshot } from '../queries/preview';
import { identifyRecord, refused, writeStep, type Writing } from './write-step';
import { openPartition, type OpenOptions } from './restore';
import { Syncs } from './syncs';
import { type Report, reportOf } from '../status';
import { type Store } from './store';
import { watchRefused } from '../telemetry';

/**
 * Processes one partition of profiles while this process owns it.
 *
 * Invariant: one step at a time, and each writes in this order: moves, the changelog, the store, messages. Each write
 * waits for Kafka's acknowledgement of the one before, and an event is done after all of them. After a crash, unwritten
 * changes are computed again from the written ones, and messages that may not have arrived are sent again unchanged.
 */
export interface PartitionProcessorOptions extends EventQueueOptions, OpenOptions {
  producer: BatchProducer;
  onFatal: (error: unknown) => void;
}

/** Events of one step. A step must be written before the next one begins, and other partitions run in between. */
const CHUNK = 500;
const TICK_MS = 100;

export class PartitionProcessor {
  readonly closed: Promise<void>;
  readonly #queue: EventQueue;
  #closing = false;
  #lost = false;
  #wake: () => void = () => undefined;
  #store: Store | undefined;
  #engine: Engine | undefined;
  /** ends of `messages` at the start; nothing is sent before everything below them is counted */
  #ends: readonly number[] = [];
  #ready = false;
  #adopted: Definitions | undefined;
  #checkpoints: Checkpoints | undefined;
  readonly #log: EventLog;
  readonly #syncs = new Syncs(CHUNK);

  constructor(private readonly options: PartitionProcessorOptions) {
    this.#queue = new EventQueue(options);
    this.#log = new EventLog(options.kafka, options.partition);
    this.closed = this.#run().catch((error: unknown) => {
      if (!this.#lost) options.onFatal(error);
    });
  }

  /** Accepts a record, unless the queue is full. */
  offer(record: OpenRecord): DispatchResult {
    const verdict = this.#queue.offer(record);
    this.#wake();
    return verdict;
  }

  /** Closes after the queue is written. `lost`: immediately, since another process may own the partition. */
  close({ lost }: { lost: boolean }): void {
    this.#closing = true;
    this.#lost ||= lost;
    this.#wake();
  }

  /** After a lost session: the events accepted and not written. They are not offered again. */
  get left(): readonly Queued[] {
    return this.#queue.all;
  }

  /** Returns the state of all definitions; undefined until the store is open. */
  report(): Report | undefined {
    if (!this.#store || !this.#engine) return undefined;
    return reportOf(this.#engine.meta, this.#store, this.#syncs.results);
  }

  /** Returns the state that queries may read; undefined before the store opens and after it begins to close. */
  get snapshot(): (Snapshot & { shelf: Store }) | undefined {
    if (!this.#store || !this.#engine || this.#lost) return undefined;
    return { shelf: this.#store, log: this.#log, ready: this.#ready, next: this.#engine.meta.live.next };
  }

  /** Number of events accepted and not yet counted. */
  get queued(): number {
    return this.#queue.length;
  }

  async #run(): Promise<void> {
    const { store, engine, checkpoints, ends, end } = await openPartition(this.options);
    [this.#store, this.#engine, this.#checkpoints, this.#ends] = [store, engine, checkpoints, ends];
    try {
      const { meta } = engine;
      const unsent = store.unsent(meta.sent).flatMap((each) => this.#told(each));
      await this.#send(unsent, meta.told);
      await recallCalls(this.options.kafka, engine, this.options);
      await this.#catchUp(engine, end);
      while (!this.#lost && !(this.#closing && this.#queue.length === 0)) {
        if (!(await this.#round(engine))) await this.#rest();
      }
    } finally {
      // Queries must not read the store any more.
      this.#store = undefined;
      await store.close();
    }
  }

  /** Counts the events that the previous owner had counted after its last changelog record. */
  async #catchUp(engine: Engine, end: number): Promise<void> {
    while (engine.meta.live.next < end && !this.#lost) {
      const { records, done } = await this.#log.read(engine.meta.live.next, end);
      await this.#perform(done ? engine.skip(end, this.options.now()) : engine.apply(records, this.options.now()));
    }
  }

  /** Performs one step of each kind. @returns whether there was any work */
  async #round(engine: Engine): Promise<boolean> {
    const { now } = this.options;
    let busy = await this.#applyNext(engine);
    if (this.#closing) return busy;
    await this.#adopt(engine);
    busy = (await this.#takeOver(engine)) || busy;
    busy = (await this.#fill(engine)) || busy;
    if (!this.#ready) {
      await this.options.progress.look();
      this.#ready = this.options.progress.covers(this.#ends, this.options.partition, engine.meta.live.next);
    }
    if (this.#ready) {
      busy = (await this.#perform(engine.scan(now(), CHUNK))) || busy;
      for (const intervalMs of this.options.definitions().intervals)
        busy = (await this.#perform(this.#syncs.next(engine, intervalMs, now()))) || busy;
    }
    await this.#checkpoint();
    return busy;
  }

  async #applyNext(engine: Engine): Promise<boolean> {
    const taken = this.#queue.all.slice(0, CHUNK);
    if (taken.length === 0) return false;
    const incoming = taken.map((each) => each.incoming).filter(({ offset }) => offset >= engine.meta.live.next);
    if (incoming.length > 0) await this.#perform(engine.apply(incoming, this.options.now()));
    if (this.#lost) return false;
    this.#queue.done(taken.length);
    return true;
  }

  async #adopt(engine: Engine): Promise<void> {
    const definitions = this.options.definitions();
    const waiting = engine.waits;
    if (definitions === this.#adopted && !waiting) return;
    if (waiting) await this.options.progress.look();
    await this.#perform(engine.adopt(definitions, this.options.now()));
    this.#adopted = definitions;
  }

  /** Applies members from a complete upload. */
  async #takeOver(engine: Engine): Promise<boolean> {
    const { definitions, partition, now } = this.options;
    for (const { id, uploads } of definitions().all) {
      const state = engine.meta.defs[id];
      const upload = uploads.find(({ number }) => state && number > state.upload);
      if (!upload) continue;
      const [from, end] = upload.ranges[partition] ?? [0, 0];
      let next = from;
      while (next < end && !this.#lost) {
        const read = await this.#log.read(next, end);
        await this.#perform(engine.list({ definition: id, upload: upload.number, nowMs: now() }, read.records));
        next = read.next;
      }
      return this.#perform(engine.listed(id, upload, now()));
    }
    return false;
  }

  async #fill(engine: Engine): Promise<boolean> {
    const { fill, live } = engine.meta;
    if (!fill) return false;
    const { records, done } = await this.#log.read(fill.cursor.next, live.next);
    return this.#perform(engine.fill(records, done, this.options.now()));
  }

  async #perform(step: Step | undefined): Promise<boolean> {
    if (!step || this.#lost || !this.#engine) return false;
    const { step: written, records } = await writeStep(step, this.#writing);
    if (this.#isLost()) return false;
    this.#engine.commit(written);
    this.#checkpoints?.wrote(records);
    watchRefused(written.refused);
    await this.#send(written.tells, written.meta.told);
    return true;
  }

  get #writing(): Writing {
    const { producer, partition, log } = this.options;
    return {
      ...{ producer, partition, before: (user) => this.#store?.get(user) },
      onRefused: (error, bytes) =>
        log.error({ partition, bytes, reason: messageOf(error.cause ?? error) }, 'profile.refused'),
    };
  }

  /** A method, because the partition may have been lost during an await. */
  #isLost = () => this.#lost;

  /** @param upTo position up to which these messages are complete */
  async #send(tells: readonly ValueChange[], upTo: number): Promise<void> {
    const { definitions, now } = this.options;
    if (!this.#engine || !this.#store || this.#engine.meta.sent >= upTo) return;
    const known = definitions();
    const records = tells.flatMap((tell) => {
      const definition = known.of(tell.definition);
      return definition ? identifyRecord(tell, definition, { nowMs: now(), traceparent: newTraceparent() }) : [];
    });
    watchRefused((await refused(records, this.#writing)).size);
    if (this.#lost) return;
    this.#engine.meta = { ...this.#engine.meta, sent: upTo };
    this.#store.sent(this.#engine.meta);
  }

  /** Restores a message as it was sent; none if a later value was emitted since. */
  #told({ sequence, user, definition }: { sequence: number; user: string; definition: string }): ValueChange[] {
    const told = this.#store?.get(user)?.s?.[definition];
    return told?.[2] === sequence ? [{ sequence, user, definition, value: told[0], atMs: told[1] }] : [];
  }

  async #checkpoint(): Promise<void> {
    const checkpoint = await this.#checkpoints?.next();
    if (checkpoint && !this.#lost) this.#store?.setCheckpoint(checkpoint);
  }

  async #rest(): Promise<void> {
    if (this.#closing) return;
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#queue.length > 0) this.#wake();
    await withTimeout(TICK_MS, woken);
  }
}
