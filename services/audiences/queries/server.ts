import { setImmediate as turn } from 'node:timers/promises';
import {
  type ProfileResult,
  type MembersQuery,
  type PreviewQuery,
  type ProfileQuery,
  readQuery,
} from '../../../shared/model/profile-queries';
import { sleep } from '../../../shared/service/async';
import { messageOf } from '../../../shared/service/errors';
import { compileExpression } from '../../../shared/cel/compile';
import { mistakeText } from '../../../shared/cel/syntax';
import { type BatchProducer, type InRecord, type Kafka, type Tail } from '../../../shared/kafka/port';
import { PROFILE_ANSWERS, PROFILE_QUESTIONS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { type MemberReader, membersOf } from './members';
import { type Figures, type Snapshot, previewOf } from './preview';

/**
 * Answers queries of control for the partitions that this process owns at the time. A query stays open until it is
 * cancelled or expires. A partition that is assigned in between is answered from the start, so that its final owner
 * answers.
 *
 * Queries run between the steps of the processors, in small pieces, and get less time while processors are busy.
 */
interface ProcessorView {
  /** the readable state; undefined while there is none */
  readonly snapshot: (Snapshot & { shelf: MemberReader }) | undefined;
  /** events accepted and not yet counted */
  readonly queued: number;
}

export interface QueryServerOptions {
  kafka: Pick<Kafka, 'tail'>;
  producer: Pick<BatchProducer, 'send' | 'pendingBytes'>;
  /** the partitions that this process owns now */
  processors: () => Iterable<[number, ProcessorView]>;
  /** ids of the sources whose write keys are public */
  browser?: () => ReadonlySet<string>;
  /** a preview was requested, so profiles are needed */
  onPreview: () => void;
  now: () => number;
  log: Log;
  onFatal: (error: unknown) => void;
}

/** Time after the last preview: the author of an audience tries several conditions and pauses in between. */
const KEEP_PROFILES_MS = 3_600_000;
/** The whole retention of the topic: queries from that time may still need their profiles. */
const LOOK_BACK = { ms: KEEP_PROFILES_MS, records: 10_000 };
/** Concurrent previews. Another one cancels the oldest. */
const MAX_PREVIEWS = 4;
const LOOK_EVERY_MS = 50;
const SAY_EVERY_MS = 300;
/** Limit of unacknowledged results. Beyond it, only final results are sent, without progress. */
const MAX_PENDING_BYTES = 1024 * 1024;
/** While messages wait, queries get a quarter of the time. */
const REST_FACTOR = 3;
const LONGEST_REST_MS = 50;
const AGAIN_MS = 1_000;

/** One partition's part of a preview. */
interface Part {
  keeper: ProcessorView;
  work: AsyncGenerator<Figures, void>;
  saidAt: number;
  said: string;
  /** earliest time of the next step, ms */
  nextAt: number;
  done: boolean;
}

type Open =
  | { question: PreviewQuery; parts: Map<number, Part> }
  | { question: MembersQuery; answered: Set<number>; parts?: undefined };

export class QueryServer {
  readonly #open = new Map<string, Open>();
  #tail: Tail | undefined;
  #working: Promise<void> | undefined;
  #previewedAt = -Infinity;
  #stopped = false;

  constructor(private readonly options: QueryServerOptions) {}

  async start(): Promise<void> {
    const { kafka, now, onFatal } = this.options;
    const from = { sinceMs: now() - LOOK_BACK.ms, atMost: LOOK_BACK.records };
    this.#tail = await kafka.tail({
      ...{ name: 'audiences-questions', topic: PROFILE_QUESTIONS, from, batchFetches: true, onFatal },
      onRecord: (record) => this.#hear(record),
    });
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

  #hear({ value, timestampMs }: InRecord): void {
    const question = readQuery(value);
    if (!question) return;
    const nowMs = this.options.now();
    if (question.kind === 'cancel') {
      this.#open.delete(question.id);
      return;
    }
    if (question.kind === 'preview' && timestampMs > this.#previewedAt) {
      this.#previewedAt = timestampMs;
      if (this.wantsProfiles(nowMs)) this.options.onPreview();
    }
    if (question.expiresAt <= nowMs) return;
    this.#say(question.id, { kind: 'heard' });
    this.#begin(question);
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
  }

  #begin(question: Exclude<ProfileQuery, { kind: 'cancel' }>): void {
    if (question.kind === 'members') {
      this.#open.set(question.id, { question, answered: new Set() });
      return;
    }
    const expression = compileExpression(question.condition, 'audience');
    if (expression.kind === 'mistake') {
      this.#say(question.id, { kind: 'refused', reason: `The condition cannot be read: ${mistakeText(expression)}` });
      return;
    }
    const previews = [...this.#open].filter(([, { parts }]) => parts);
    for (const [id] of previews.slice(0, Math.max(0, previews.length + 1 - MAX_PREVIEWS))) {
      this.#open.delete(id);
      this.#say(id, { kind: 'refused', reason: 'Too many previews are running. Request it again' });
    }
    this.#open.set(question.id, { question, parts: new Map() });
  }

  async #work(): Promise<void> {
    while (!this.#stopped && this.#open.size > 0) {
      let busy = false;
      for (const [id, open] of this.#open) {
        if (open.question.expiresAt <= this.options.now()) this.#open.delete(id);
        for (const [partition, keeper] of this.options.processors()) {
          // Cancelled or expired in between.
          if (!this.#open.has(id)) break;
          if (open.parts) busy = (await this.#count(open, partition, keeper)) || busy;
          else this.#list(open, partition, keeper);
        }
      }
      if (!busy) await sleep(LOOK_EVERY_MS);
    }
  }

  #list(
    { question, answered }: Extract<Open, { answered: unknown }>,
    partition: number,
    { snapshot }: ProcessorView,
  ): void {
    const at = question.partitions.find((each) => each.partition === partition);
    if (!at || !snapshot || answered.has(partition)) return;
    answered.add(partition);
    this.#say(question.id, { kind: 'members', partition, ...membersOf(snapshot.shelf, question, at.after) });
  }

  /** Runs the next piece of a preview. @returns whether there was any work */
  async #count(
    { question, parts }: Extract<Open, { parts: Map<number, Part> }>,
    partition: number,
    keeper: ProcessorView,
  ) {
    const { now, log } = this.options;
    const begin = () => previewOf(question, () => keeper.snapshot, now, this.options.browser?.());
    let part = parts.get(partition);
    if (part?.keeper !== keeper) {
      if (!keeper.snapshot) return false;
      part = {
        keeper,
        work: begin(),
        saidAt: 0,
        said: '',
        nextAt: 0,
        done: false,
      };
      parts.set(partition, part);
    }
    if (part.done || now() < part.nextAt) return false;
    const startedAt = performance.now();
    try {
      const { value: figures } = await part.work.next();
      part.done = !figures;
      if (figures) this.#tell(question.id, partition, part, figures);
      if (figures?.state === 'waiting') part.nextAt = now() + LOOK_EVERY_MS;
    } catch (error) {
      log.warn({ partition, reason: messageOf(error) }, 'preview.interrupted');
      Object.assign(part, { work: begin(), nextAt: now() + AGAIN_MS });
    }
    await this.#rest(keeper, performance.now() - startedAt);
    return true;
  }

  #tell(id: string, partition: number, part: Part, figures: Figures): void {
    const { now, producer } = this.options;
    const answer = { kind: 'preview' as const, partition, ...figures };
    if (figures.state !== 'done') {
      const early = now() - part.saidAt < SAY_EVERY_MS || producer.pendingBytes > MAX_PENDING_BYTES;
      const said = JSON.stringify(answer);
      if (early || said === part.said) return;
      Object.assign(part, { said, saidAt: now() });
    }
    this.#say(id, answer);
  }

  async #rest({ queued }: ProcessorView, workedMs: number): Promise<void> {
    if (queued === 0) await turn();
    else await sleep(Math.min(LONGEST_REST_MS, workedMs * REST_FACTOR));
  }

  #say(id: string, answer: ProfileResult): void {
    // Only a stopping process refuses. The partition's next owner answers.
    this.options.producer
      .send([{ topic: PROFILE_ANSWERS, key: id, value: JSON.stringify(answer) }])
      .catch(() => undefined);
  }
}
