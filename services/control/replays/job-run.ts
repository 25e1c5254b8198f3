import { type Encryptor } from '../../../shared/config/encryption';
import { hashesExcept, urlHashes } from '../destinations/stored-webhook';
import { type ConfigView } from '../../../shared/config/types';
import { type BatchProducer, type Kafka, type OutRecord } from '../../../shared/kafka/port';
import { readPiece } from '../../../shared/kafka/scan';
import { allSent } from '../../../shared/kafka/send-each';
import { ATTEMPTS, DUE } from '../../../shared/kafka/topics';
import { sleep } from '../../../shared/runtime/async';
import { AppError, isRefused, isRetriable, messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type History } from '../history/history';
import { Problem } from '../http/problem';
import {
  type Candidate,
  candidateOf,
  deliveredWebhooks,
  messageOfCandidate,
  refusedReplayRecords,
  renderCandidate,
  replayNumber,
  replayRecords,
  windowOf,
} from './candidates';
import { readMessage } from './find-message';
import { type LeasedJob } from './leased-job';
import { chunkOf, currentCursor, type Job, nextPass, type ReplayCursor, topicOf } from './job';
import { knownOf } from './store';
import { readUnsaved, type Unsaved } from './unsaved';

/**
 * Counts the records of a replay, then sends them. The position is saved after each chunk, so that
 * another process can continue there, behind what was sent after the last save (unsaved.ts).
 */

const READ_BYTES = 512 * 1024;
const PAUSE_MS = 1_000;

/** A candidate with its replay number; `sent`: it was sent after the last save. */
interface Chosen {
  candidate: Candidate;
  replay: number | 'sent';
  /** hashes of the URLs that do not get it again */
  excludedUrls: string[];
}

export interface ReplayDeps {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  history: Pick<History, 'ask' | 'hasRead' | 'forgotten' | 'learnDeletions'>;
  config: Pick<ConfigView, 'source' | 'destination'>;
  encryptor: Encryptor;
  windowMs: number;
  now: () => Date;
  /** ms of a monotonic clock that includes the time while the process is stopped */
  steadyMs: () => number;
  log: Log;
}

export class JobRun {
  readonly #rate: RateLimiter;

  constructor(
    private readonly leased: LeasedJob,
    private readonly deps: ReplayDeps,
  ) {
    this.#rate = new RateLimiter(perSecondOf(leased.job), deps.steadyMs);
  }

  private get job(): Job {
    return this.leased.job;
  }

  /** Runs the job until it ends or must stop. */
  async toEnd(): Promise<void> {
    const { leased, job } = this;
    const { log } = this.deps;
    /** undefined: not known yet */
    let unsaved: Unsaved | undefined;
    while (leased.goesOn()) {
      try {
        if (!(await this.#historyIsThere())) {
          await sleep(PAUSE_MS);
          continue;
        }
        if (!unsaved) {
          unsaved = await readUnsaved(this.deps.kafka, job);
          // The next owner reads on from this time, however long this one waited before.
          await leased.save();
        }
        const cursor = currentCursor(job);
        if (cursor) await this.#piece(cursor, unsaved);
        else Object.assign(job, await this.#ends(), nextPass(job));
        await leased.save();
      } catch (error) {
        // Kafka or the database is away: wait and retry.
        if (!isPassing(error)) Object.assign(job, { status: 'failed', error: failureOf(error) });
        log.warn({ replay: job.id, reason: messageOf(error) }, 'replay.interrupted');
        // An append without an answer may have succeeded.
        unsaved = undefined;
        await sleep(PAUSE_MS);
      }
    }
    await leased.end();
    log.info(
      { replay: job.id, status: job.status, matched: job.matched, sent: job.sent },
      'replay.ended',
    );
  }

  /**
   * Checks the history: if it lags, it does not know recent deliveries, and the replay would repeat
   * them.
   */
  async #historyIsThere(): Promise<boolean> {
    const { job } = this;
    if (job.historyUpTo && !(await this.deps.history.hasRead(job.historyUpTo))) return false;
    delete job.historyUpTo;
    return true;
  }

  /** Reads the next records of a partition, and counts or sends the candidates. */
  async #piece(cursor: ReplayCursor, { sent, announced }: Unsaved): Promise<void> {
    const { job } = this;
    const { kafka, config, history, encryptor } = this.deps;
    const topic = topicOf(job.scope);
    const { partition, next: from, end: to } = cursor;
    const { records, next } = await readPiece(kafka, {
      topic,
      partition,
      from,
      to,
      maxBytes: READ_BYTES,
    });
    await history.learnDeletions();
    const candidates = records
      .flatMap((record) => candidateOf(record, job.scope, config) ?? [])
      .filter(
        ({ delivery: d }) => !history.forgotten.has({ ...d, source: d.sourceId }, d.acceptedAt),
      );
    const ids = candidates.map(({ delivery }) => delivery.id);
    const withTries = job.scope.onlyFailedUrls;
    const known = await history.ask((database) => knownOf(database, ids, { withTries }));
    const destination = withTries ? config.destination(job.scope.destination)?.data : undefined;
    const urls = urlHashes(destination, encryptor);
    const chosen = candidates.flatMap((candidate): Chosen[] => {
      const { id } = candidate.delivery;
      if (sent.has(id)) return [{ candidate, replay: 'sent', excludedUrls: [] }];
      const replay = announced.get(id) ?? replayNumber(candidate, known.get(id), job.scope);
      const delivered = deliveredWebhooks(known.get(id)?.tries ?? []);
      const excludedUrls = hashesExcept(urls, (webhook) => !delivered.has(webhook));
      const nothingLeft =
        withTries && [...urls].every(([id, hash]) => hash === undefined || delivered.has(id));
      return replay === undefined || nothingLeft ? [] : [{ candidate, replay, excludedUrls }];
    });
    if (job.pass === 'counting') job.matched += chosen.length;
    else if (!(await this.#send(cursor, chosen, announced))) return;
    cursor.next = next;
  }

  /** @returns whether all were sent: a cancelled job stops between two appends */
  async #send(
    cursor: ReplayCursor,
    chosen: readonly Chosen[],
    announced: Unsaved['announced'],
  ): Promise<boolean> {
    const { leased, job } = this;
    const { config, now } = this.deps;
    const windowMs = windowOf(config, job.scope.destination, this.deps.windowMs);
    const size = chunkOf(perSecondOf(job));
    for (let i = 0; i < chosen.length; i += size) {
      const chunk = chosen.slice(i, i + size);
      const goOn = () => leased.goesOn();
      const fresh = chunk.flatMap(({ replay, ...rest }) =>
        replay === 'sent' ? [] : [{ ...rest, replay }],
      );
      const sendable = await this.#rendered(fresh);
      await this.#rate.take(sendable.length, goOn);
      const context = { nowMs: now().getTime(), windowMs, job: job.id };
      const replays = sendable.map(({ candidate, replay, excludedUrls }) => {
        const own = { ...context, excludedUrls };
        return {
          records: replayRecords(candidate, replay, own),
          endRecords: () => refusedReplayRecords(candidate, replay, own),
        };
      });
      // Between the look at the lease and the append nothing is awaited, and nothing computed: the
      // process may be stopped at any moment.
      await leased.confirm();
      if (!goOn() || !leased.maySend) return false;
      await allSent(replays.map(({ records, endRecords }) => this.#sendOne(records, endRecords)));
      // If the topic holds the message once more, the history decides about it again.
      for (const { candidate } of sendable) announced.delete(candidate.delivery.id);
      Object.assign(job, await this.#ends());
      job.sent += chunk.length - (fresh.length - sendable.length);
      cursor.next = (chunk.at(-1)?.candidate.record.offset ?? cursor.next) + 1;
      await leased.save();
    }
    return true;
  }

  /** Sends one replay. @param endRecords returns those that end it if Kafka refuses it for good */
  async #sendOne(records: OutRecord[], endRecords: () => OutRecord[]): Promise<void> {
    const { leased } = this;
    const { producer } = this.deps;
    try {
      await producer.send(records);
      return;
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
    await leased.confirm();
    if (!leased.maySend) throw new Problem('unavailable', 'The lease was renewed too late');
    await producer.send(endRecords());
  }

  /** Returns the ends of the topics that it sends to, behind all that it has sent. */
  async #ends(): Promise<Pick<Job, 'sentUpTo' | 'dueUpTo'>> {
    const { kafka } = this.deps;
    const [sentUpTo, dueUpTo] = await Promise.all([kafka.ranges(ATTEMPTS), kafka.ranges(DUE)]);
    return { sentUpTo, dueUpTo };
  }

  /**
   * Returns what can be sent: dead letters that were never rendered are rendered now, without those
   * whose message Kafka no longer has.
   */
  async #rendered<T extends { candidate: Candidate }>(chosen: readonly T[]): Promise<T[]> {
    const { kafka, config } = this.deps;
    const destination = config.destination(this.job.scope.destination)?.data;
    const sendable: T[] = [];
    for (const each of chosen) {
      const place = messageOfCandidate(each.candidate);
      const record = place && (await readMessage(kafka, place, each.candidate.delivery));
      const candidate = !place
        ? each.candidate
        : record && destination && renderCandidate(record, destination);
      if (candidate) sendable.push({ ...each, candidate });
    }
    return sendable;
  }
}

function isPassing(error: unknown): boolean {
  return (error instanceof Problem && error.code === 'unavailable') || isRetriable(error);
}

function failureOf(error: unknown): string {
  const isNewer = error instanceof AppError && error.code === 'newer_format';
  return isNewer ? error.message : 'an unexpected error; see the log';
}

/** A replay always has a rate. */
function perSecondOf({ maxPerSecond }: Job): number {
  return maxPerSecond ?? Infinity;
}

/** Longest time until a waiting caller notices that it should stop. */
const CHECK_EVERY_MS = 100;

/** Limits a rate by waiting. It does not make up for unused time. */
export class RateLimiter {
  #freeAt = 0;

  /** @param steadyMs reads a monotonic clock, ms */
  constructor(
    private readonly perSecond: number,
    private readonly steadyMs: () => number,
  ) {}

  /** @param goOn asked again every `CHECK_EVERY_MS`, since the wait is long at a slow rate */
  async take(count: number, goOn: () => boolean): Promise<void> {
    for (
      let waitMs = this.#freeAt - this.steadyMs();
      waitMs > 0 && goOn();
      waitMs = this.#freeAt - this.steadyMs()
    ) {
      await sleep(Math.min(waitMs, CHECK_EVERY_MS));
    }
    this.#freeAt = Math.max(this.#freeAt, this.steadyMs()) + (count * 1_000) / this.perSecond;
  }
}
