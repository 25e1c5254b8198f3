import { stringifyJson } from '../../../shared/json/json';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type ProfileResult,
  type MembersQuery,
  type PreviewQuery,
  readQuery,
} from '../../../shared/model/profile-records';
import { sleep } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { compileExpression } from '../../../shared/cel/compile';
import { mistakeText } from '../../../shared/cel/syntax';
import {
  type BatchProducer,
  type InRecord,
  type Kafka,
  type Tail,
} from '../../../shared/kafka/port';
import { PROFILE_QUERIES, PROFILE_RESULTS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { type MemberReader, membersOf } from './members';
import { type Figures, previewOf, PreviewWork, type Snapshot } from './preview';

/**
 * Answers queries of control for the partitions that this process owns at the time. A query stays
 * open until it is cancelled or expires. A partition that is assigned in between is answered from
 * the start, so that its final owner answers.
 *
 * A process that starts begins the open previews from before, and counts that in the topic first: a
 * preview that ends a process would end each next one. After two such attempts it is refused.
 *
 * Queries run between the steps of the processors, in small pieces, and get less time while
 * processors are busy.
 */
interface ProcessorView {
  /** the readable state; undefined while there is none */
  readonly snapshot: (Snapshot & { store: MemberReader }) | undefined;
  /** events accepted and not yet counted */
  readonly queued: number;
}

export interface QueryServerOptions {
  kafka: Pick<Kafka, 'tail' | 'ranges'>;
  producer: Pick<BatchProducer, 'send' | 'pendingBytes'>;
  /** the partitions that this process owns now */
  processors: () => Iterable<[number, ProcessorView]>;
  /** ids of the sources whose write keys are public */
  browser?: () => ReadonlySet<string>;
  /** a preview was requested, so profiles are needed */
  onPreview: () => void;
  now: () => number;
  /** measures the work of previews, in ms */
  cpu?: () => number;
  log: Log;
  onFatal: (error: unknown) => void;
}

/**
 * Time after the last preview: the author of an audience tries several conditions and pauses in
 * between.
 */
const KEEP_PROFILES_MS = 3_600_000;
/** The whole retention of the topic: queries from that time may still need their profiles. */
const LOOK_BACK = { ms: KEEP_PROFILES_MS, records: 10_000 };
/**
 * Limit of the evaluations of one preview in this process. A condition on traits takes 5 µs a
 * profile, which makes two million; the work limit of an evaluation is a thousand times that.
 */
const MAX_WORK_MS = 10_000;
/** Starts of processes that a preview may outlive. */
const MAX_ATTEMPTS = 2;
const CAUGHT_UP_WITHIN_MS = 60_000;
/** Concurrent previews. Another one cancels the oldest. */
const MAX_PREVIEWS = 4;
const POLL_MS = 50;
const PROGRESS_EVERY_MS = 300;
/** Limit of unacknowledged results. Beyond it, only final results are sent, without progress. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** While messages wait, queries get a quarter of the time. */
const PAUSE_FACTOR = 3;
const LONGEST_PAUSE_MS = 50;
const RETRY_AFTER_MS = 1_000;

const TOO_MUCH_WORK =
  'The condition takes too much work for this many profiles. Use shorter patterns and fewer loops';

/** One partition's part of a preview. */
interface PreviewPart {
  processor: ProcessorView;
  work: AsyncGenerator<Figures, void>;
  lastSent: string;
  lastSentAt: number;
  /** earliest time of the next step, ms */
  nextAt: number;
  done: boolean;
}

type OpenQuery =
  | { query: PreviewQuery; parts: Map<number, PreviewPart>; work: PreviewWork }
  | { query: MembersQuery; answered: Set<number>; parts?: undefined };

export class QueryServer {
  readonly #open = new Map<string, OpenQuery>();
  /** by partition of the topic: the first offset that was not there at the start */
  readonly #startedAt = new Map<number, number>();
  /** open previews from before the start, and how often processes have begun them anew */
  readonly #earlier = new Map<string, { query: PreviewQuery; attempts: number }>();
  #tail: Tail | undefined;
  #working: Promise<void> | undefined;
  #previewedAt = -Infinity;
  #stopped = false;

  constructor(private readonly options: QueryServerOptions) {}

  async start(): Promise<void> {
    const { kafka, now, onFatal } = this.options;
    for (const { partition, high } of await kafka.ranges(PROFILE_QUERIES)) {
      this.#startedAt.set(partition, high);
    }
    this.#tail = await kafka.tail({
      name: 'audiences-queries',
      topic: PROFILE_QUERIES,
      from: { sinceMs: now() - LOOK_BACK.ms, atMost: LOOK_BACK.records },
      batchMs: 100,
      onRecord: (record) => this.#onRecord(record),
      onFatal,
    });
    this.#tail.caughtUp(CAUGHT_UP_WITHIN_MS).then(
      () => this.#beginEarlier(),
      () => undefined,
    );
  }

  /** Returns whether a recent preview needs profiles, although nothing may be defined. */
  wantsProfiles(nowMs: number): boolean {
    return nowMs - this.#previewedAt < KEEP_PROFILES_MS;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#tail?.stop();
    await this.#working;
  }

  #onRecord({ value, timestampMs, partition, offset }: InRecord): void {
    const query = readQuery(value);
    if (!query) return;
    const nowMs = this.options.now();
    const earlier = this.#earlier.get(query.id);
    if (query.kind === 'attempt') {
      if (earlier) earlier.attempts++;
      return;
    }
    if (query.kind === 'cancel') {
      this.#open.delete(query.id);
      this.#earlier.delete(query.id);
      return;
    }
    if (query.kind === 'preview' && timestampMs > this.#previewedAt) {
      this.#previewedAt = timestampMs;
      if (this.wantsProfiles(nowMs)) this.options.onPreview();
    }
    if (query.expiresAt <= nowMs) return;
    if (query.kind === 'preview' && offset < (this.#startedAt.get(partition) ?? 0)) {
      this.#earlier.set(query.id, { query, attempts: 0 });
      return;
    }
    this.#answer(query);
  }

  /** Begins the open previews from before the start, unless they were begun too often. */
  async #beginEarlier(): Promise<void> {
    for (const [id, { query, attempts }] of this.#earlier) {
      if (attempts >= MAX_ATTEMPTS) {
        this.#earlier.delete(id);
        this.#refuse(id, 'Processes of the audiences service ended meanwhile. Request it again');
        continue;
      }
      const attempt = JSON.stringify({ kind: 'attempt', id, expiresAt: query.expiresAt });
      const isCounted = await this.options.producer
        .send([{ topic: PROFILE_QUERIES, key: id, value: attempt }])
        .then(
          () => true,
          () => false,
        );
      const isOpen = this.#earlier.delete(id) && !this.#stopped;
      if (isOpen && isCounted && query.expiresAt > this.options.now()) this.#answer(query);
    }
  }

  #answer(query: PreviewQuery | MembersQuery): void {
    this.#send(query.id, { kind: 'heard' });
    this.#begin(query);
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
  }

  #begin(query: PreviewQuery | MembersQuery): void {
    if (query.kind === 'members') {
      this.#open.set(query.id, { query, answered: new Set() });
      return;
    }
    const expression = compileExpression(query.condition, 'audience');
    if (expression.kind === 'mistake') {
      this.#refuse(query.id, `The condition cannot be read: ${mistakeText(expression)}`);
      return;
    }
    const previews = [...this.#open].filter(([, { parts }]) => parts);
    for (const [id] of previews.slice(0, Math.max(0, previews.length + 1 - MAX_PREVIEWS))) {
      this.#refuse(id, 'Too many previews are running. Request it again');
    }
    const work = new PreviewWork(this.options.cpu);
    this.#open.set(query.id, { query, parts: new Map(), work });
  }

  async #work(): Promise<void> {
    while (!this.#stopped && this.#open.size > 0) {
      let busy = false;
      for (const [id, open] of this.#open) {
        if (open.query.expiresAt <= this.options.now()) this.#open.delete(id);
        for (const [partition, processor] of this.options.processors()) {
          // Cancelled or expired in between.
          if (!this.#open.has(id)) break;
          if (open.parts) busy = (await this.#count(open, partition, processor)) || busy;
          else this.#list(open, partition, processor);
        }
      }
      if (!busy) await sleep(POLL_MS);
    }
  }

  #list(
    { query, answered }: Extract<OpenQuery, { answered: unknown }>,
    partition: number,
    { snapshot }: ProcessorView,
  ): void {
    const at = query.partitions.find((each) => each.partition === partition);
    if (!at || !snapshot || answered.has(partition)) return;
    answered.add(partition);
    this.#send(query.id, {
      kind: 'members',
      partition,
      ...membersOf(snapshot.store, query, at.after),
    });
  }

  /** Runs the next piece of a preview. @returns whether there was any work */
  async #count(
    open: Extract<OpenQuery, { parts: Map<number, PreviewPart> }>,
    partition: number,
    processor: ProcessorView,
  ) {
    const { now, log } = this.options;
    const begin = () =>
      previewOf(open.query, () => processor.snapshot, {
        now,
        browser: this.options.browser?.(),
        work: open.work,
      });
    let part = open.parts.get(partition);
    if (part?.processor !== processor) {
      if (!processor.snapshot) return false;
      part = { processor, work: begin(), lastSent: '', lastSentAt: 0, nextAt: 0, done: false };
      open.parts.set(partition, part);
    }
    if (part.done || now() < part.nextAt) return false;
    const startedAt = performance.now();
    try {
      const { value: figures } = await part.work.next();
      // The store was closed: this process has lost the partition, or opens its store again.
      if (!figures) open.parts.delete(partition);
      else this.#report(open, partition, part, figures);
      part.done = figures?.state === 'done';
      if (figures?.state === 'waiting') part.nextAt = now() + POLL_MS;
      const isCounting = figures !== undefined && figures.state !== 'done';
      if (isCounting && open.work.spentMs > MAX_WORK_MS) this.#refuse(open.query.id, TOO_MUCH_WORK);
    } catch (error) {
      log.warn({ partition, reason: messageOf(error) }, 'preview.interrupted');
      Object.assign(part, { work: begin(), nextAt: now() + RETRY_AFTER_MS });
    }
    await this.#yieldTo(processor, performance.now() - startedAt);
    return true;
  }

  /** Sends the figures of a partition: final ones immediately, progress every 300 ms. */
  #report({ query }: OpenQuery, partition: number, part: PreviewPart, figures: Figures): void {
    const { now, producer } = this.options;
    const result = { kind: 'preview' as const, partition, ...figures };
    if (figures.state !== 'done') {
      const isEarly =
        now() - part.lastSentAt < PROGRESS_EVERY_MS || producer.pendingBytes > MAX_PENDING_BYTES;
      const text = stringifyJson(result);
      if (isEarly || text === part.lastSent) return;
      Object.assign(part, { lastSent: text, lastSentAt: now() });
    }
    this.#send(query.id, result);
  }

  /** Ends a query without its result. */
  #refuse(id: string, reason: string): void {
    this.#open.delete(id);
    this.#send(id, { kind: 'refused', reason });
  }

  async #yieldTo({ queued }: ProcessorView, workedMs: number): Promise<void> {
    if (queued === 0) await turn();
    else await sleep(Math.min(LONGEST_PAUSE_MS, workedMs * PAUSE_FACTOR));
  }

  #send(id: string, result: ProfileResult): void {
    // Only a stopping process refuses. The partition's next owner answers.
    this.options.producer
      .send([{ topic: PROFILE_RESULTS, key: id, value: stringifyJson(result) }])
      .catch(() => undefined);
  }
}
