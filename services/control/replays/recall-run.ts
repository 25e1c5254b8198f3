import { defined } from '../../../shared/collections/defined';
import { ATTEMPTS, recallRecord, RECALLS } from '../../../shared/kafka/topics';
import { type BatchProducer, type Kafka, type OutRecord } from '../../../shared/kafka/port';
import { scan } from '../../../shared/kafka/scan';
import { type ConfigView } from '../../../shared/config/types';
import { DEFAULT_SHARDS } from '../../../shared/model/config';
import { shardKeys } from '../../../shared/model/delivery';
import {
  JOB_LIFETIME_MS,
  readRecall,
  type Recall,
  type RecallRecord,
  STANDS_MS,
} from '../../../shared/model/recall';
import { sleep } from '../../../shared/runtime/async';
import { messageOf, requireKnownFormat } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { openOf } from '../history/queries';
import { windowOf } from './candidates';
import { isActive, isSearched, type Job, type RecallProgress, shownStatus } from './job';
import { type LeasedJob } from './leased-job';
import { type Asking } from '../history/database';

/**
 * Runs a job that sends or cancels all deliveries that wait at a destination. The retry service
 * does the work (shared/model/recall.ts); the job sends one request, and counts what retry notes
 * about it.
 */

/** A person watches, and each look is one small read. */
const POLL_EVERY_MS = 300;
/** Interval after users see the cancellation as done, while later cancellations are counted. */
const COUNT_EVERY_MS = 2_000;
/** Retry notes the last deliveries of a cancellation within this time after `STANDS_MS`. */
const NOTED_WITHIN_MS = 10_000;
/**
 * After `JOB_LIFETIME_MS` retry works on a job only if it has not stopped since; it notes its work
 * all the time.
 */
const SILENT_MS = 3_600_000;

export interface RecallDeps {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  history: Asking;
  config: Pick<ConfigView, 'destination'>;
  windowMs: number;
  now: () => Date;
  log: Log;
}

export class RecallRun {
  constructor(
    private readonly leased: LeasedJob,
    private readonly deps: RecallDeps,
  ) {}

  private get job(): Job {
    return this.leased.job;
  }

  /** Runs the job until it ends or must stop. */
  async toEnd(): Promise<void> {
    const { leased, job } = this;
    const { log } = this.deps;
    let isInterrupted = false;
    while (leased.goesOn()) {
      try {
        await this.#poll();
        if (isActive(job)) await leased.save();
        isInterrupted = false;
      } catch (error) {
        if (!isInterrupted) {
          log.warn({ replay: job.id, reason: messageOf(error) }, 'replay.interrupted');
        }
        isInterrupted = true;
      }
      if (leased.goesOn()) {
        await sleep(shownStatus(job) === 'done' ? COUNT_EVERY_MS : POLL_EVERY_MS);
      }
    }
    if ((job.status === 'cancelled' || job.status === 'failed') && !leased.lost) {
      await this.deps.producer.send([stopRecord(job)]).catch(() => undefined);
    }
    if (job.action === 'retry' && !isActive(job)) await this.#noteEnds();
    await leased.end();
    log.info(
      { replay: job.id, action: job.action, status: job.status, sent: job.sent },
      'replay.ended',
    );
  }

  async #poll(): Promise<void> {
    const { job } = this;
    if (!job.recall) {
      job.recall = await this.#begin();
      // Before the request: a process that takes over finds the request and its notes from there
      // on.
      await this.leased.save();
    }
    const progress = job.recall;
    await this.#readNotes(progress);
    if (!progress.requested) {
      // Nothing is awaited between the look at the lease and the request: the process may be
      // stopped at any moment, and a request that comes late would take what waits by then.
      await this.leased.confirm();
      if (!this.leased.goesOn() || !this.leased.maySend) return;
      await this.deps.producer.send([recallRecord(recallOf(job, this.deps))]);
      progress.requested = true;
      progress.requestedAt = this.deps.now().getTime();
    }
    if (job.status === 'counting') Object.assign(job, { status: 'running', pass: 'running' });
  }

  async #readNotes(progress: RecallProgress): Promise<void> {
    const { job } = this;
    const [range] = await this.deps.kafka.ranges(RECALLS);
    const nowMs = this.deps.now().getTime();
    progress.notedAt ??= nowMs;
    const section = { topic: RECALLS, partition: 0, from: progress.next, to: range?.high ?? 0 };
    for await (const { records, next } of scan(this.deps.kafka, section)) {
      for (const record of records) {
        requireKnownFormat(record, 'this control process');
        addNote(job, progress, readRecall(record.value), nowMs);
      }
      progress.next = next;
    }
    if (isActive(job)) Object.assign(job, endOf(job, progress, nowMs));
  }

  /**
   * Notes ends of `attempts` behind all events of the job, since retry writes the events first and
   * its notes afterwards. While Kafka is away, the ends stay unknown.
   */
  async #noteEnds(): Promise<void> {
    const ends = await this.deps.kafka.ranges(ATTEMPTS).catch(() => undefined);
    if (ends) this.job.sentUpTo = ends;
  }

  /** Notes follow the present end of the topic. */
  async #begin(): Promise<RecallProgress> {
    const { job } = this;
    const { kafka, history } = this.deps;
    const [[range], waiting] = await Promise.all([
      kafka.ranges(RECALLS),
      history.ask((database) => openOf(database, job.scope.destination)),
    ]);
    job.matched = waiting.count;
    return { requested: false, next: range?.high ?? 0, searched: [], of: 0 };
  }
}

export function stopRecord(job: Pick<Job, 'id'>): OutRecord {
  return recallRecord({ kind: 'stop', recall: job.id });
}

/**
 * Returns how a job ends, if it does. A cancellation runs on while attempts may fail and enter a
 * tier. Pure.
 */
function endOf(job: Job, progress: RecallProgress, nowMs: number): Partial<Job> {
  const { requestedAt = job.createdAt, notedAt = nowMs } = progress;
  const stands = job.action === 'cancel' && nowMs - requestedAt < STANDS_MS + NOTED_WITHIN_MS;
  if (isSearched(progress)) return stands ? {} : { status: 'done' };
  const isDropped = nowMs - requestedAt > JOB_LIFETIME_MS && nowMs - notedAt > SILENT_MS;
  if (!isDropped) return {};
  const error =
    'retry did not finish it within a day, and works on it no longer. Request it again for the rest';
  return { status: 'failed', error };
}

function addNote(
  job: Job,
  progress: RecallProgress,
  note: RecallRecord | undefined,
  nowMs: number,
): void {
  if (note?.kind === 'recall' && note.id === job.id) {
    progress.requested = true;
    progress.requestedAt ??= nowMs;
  }
  if (!note || note.kind === 'recall' || note.recall !== job.id) return;
  progress.notedAt = nowMs;
  if (note.kind === 'stop' && isActive(job)) job.status = 'cancelled';
  if (note.kind === 'taken') job.sent += note.count;
  if (note.kind === 'searched') {
    progress.searched = [...new Set([...progress.searched, ...note.partitions])];
    progress.of = Math.max(progress.of, note.of);
  }
  // The history lags: it may not know all that waited.
  job.matched = Math.max(job.matched, job.sent);
}

/** Returns the request of a job. Pure. */
function recallOf(job: Job, { config, windowMs }: Pick<RecallDeps, 'config' | 'windowMs'>): Recall {
  const { destination } = job.scope;
  const { shards = DEFAULT_SHARDS } = config.destination(destination)?.data ?? {};
  return {
    kind: 'recall',
    id: job.id,
    action: job.action === 'cancel' ? 'cancel' : 'retry_all',
    where: { destination },
    keys: shardKeys(destination, shards),
    job: job.id,
    ...defined({
      expiresBy:
        job.action === 'cancel'
          ? job.createdAt + windowOf(config, destination, windowMs)
          : undefined,
      maxPerSecond: job.maxPerSecond ?? undefined,
    }),
  };
}
