import { randomUUID } from 'node:crypto';
import { type ConfigView } from '../../../shared/config/types';
import { Periodic, sleep } from '../../../shared/service/async';
import { AppError, messageOf } from '../../../shared/service/errors';
import { Problem } from '../http/problem';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { readPiece } from '../../../shared/kafka/scan';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { type History } from '../history/history';
import { addJob, cancelJob, claimJobs, getJob, isFree, knownOf, resumeJob } from './store';
import { sentSinceCheckpoint } from './sent-since-checkpoint';
import { asEvent, type Candidate, candidateOf, replayNumber, replayRecords } from './candidates';
import { chunkOf, currentPlace, isActive, type Job, newJob, nextPass, type Place } from './job';
import { HeldJob, LEASE_MS } from './held-job';
import { RateLimiter } from './rate-limiter';
import { requireOn, type Scope, topicOf, type Wanted } from './scope';

/**
 * Runs replays. The position of a job is saved after each chunk, so that another process can continue there. Records
 * sent after the last save are found in `attempts` (sent-since-checkpoint.ts).
 *
 * Several control processes share the jobs: each job has an owner with a lease (held-job.ts). A process takes over jobs
 * with an expired lease, and stops a job at the next chunk if another process holds the lease.
 */

const READ_BYTES = 512 * 1024;
/** More replays would only share the same Kafka and the same database. */
const MAX_ACTIVE = 5;
const PAUSE_MS = 1_000;
/**
 * Interval in which a process looks for jobs to take over, and for cancels through other processes. One small query
 * each time.
 */
const LOOK_EVERY_MS = 1_000;
const CANCEL_LOOK_MS = 50;
/** Longest time between the acceptance of a message and its append. */
const APPEND_SLACK_MS = 600_000;

/** A candidate with its replay number; `sent`: it was sent after the last save. */
interface Chosen {
  candidate: Candidate;
  replay: number | 'sent';
}

export interface ReplaysOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  producer: Pick<BatchProducer, 'send'>;
  history: Pick<History, 'ask' | 'hasRead' | 'forgotten' | 'learnDeletions'>;
  config: Pick<ConfigView, 'source' | 'destination'>;
  windowMs: number;
  now: () => Date;
  log: Log;
}

interface Active {
  held: HeldJob;
  ended: Promise<void>;
}

export class Replays {
  readonly #active = new Map<string, Active>();
  readonly #owner = randomUUID();
  readonly #looking = new Periodic(LOOK_EVERY_MS, () => this.#lookSafely());
  #stopping = false;
  #trouble = false;

  constructor(private readonly options: ReplaysOptions) {}

  /** Takes over jobs of processes that have ended, now and every second. */
  watch(): void {
    this.#looking.start();
    void this.#looking.now();
  }

  /** Renews the leases of its jobs, and takes over jobs without a living owner. @throws Problem `unavailable` */
  async look(): Promise<void> {
    for (const { held } of this.#active.values()) await held.renew();
    const room = this.#stopping ? 0 : MAX_ACTIVE - this.#active.size;
    if (room <= 0) return;
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    for (const job of await this.options.history.ask((database) => claimJobs(database, room, lease))) {
      this.#run(job, 'taken over');
    }
  }

  /** @throws Problem `conflict` if too many replays run */
  async start(wanted: Wanted, id: string): Promise<Job> {
    this.#requireRoom();
    const { kafka, history, now } = this.options;
    const [places, historyUpTo] = await Promise.all([this.#places(wanted.scope), kafka.ranges(ATTEMPTS)]);
    const job = newJob(wanted, { id, now: now(), places, historyUpTo });
    await history.ask((database) => addJob(database, job, { owner: this.#owner, forMs: LEASE_MS }));
    this.#run(job);
    return job;
  }

  /** Returns the current state. @throws Problem `not_found` */
  async get(id: string): Promise<Job> {
    const active = this.#active.get(id);
    const job = active?.held.job ?? (await this.options.history.ask((database) => getJob(database, id)));
    if (!job) throw new Problem('not_found', `Unknown replay ${JSON.stringify(id.slice(0, 100))}`);
    return job;
  }

  /**
   * Resolves once the process that runs it, this one or another, has stopped sending.
   * @throws Problem `not_found`; `conflict` if it has ended
   */
  async cancel(id: string): Promise<Job> {
    const { history } = this.options;
    if (!(await history.ask((database) => cancelJob(database, id)))) {
      throw new Problem('conflict', `The replay is already ${(await this.get(id)).status}`);
    }
    const active = this.#active.get(id);
    if (active) {
      active.held.job.status = 'cancelled';
      await active.ended;
    }
    while (!(await history.ask((database) => isFree(database, id)))) await sleep(CANCEL_LOOK_MS);
    return this.get(id);
  }

  /** Continues a cancelled or failed replay. @throws Problem `not_found`, `conflict` */
  async resume(id: string): Promise<Job> {
    const job = await this.get(id);
    if (job.status !== 'cancelled' && job.status !== 'failed') {
      throw new Problem('conflict', `The replay is ${job.status}. Only a cancelled or failed replay can be resumed`);
    }
    requireOn(this.options.config, job.scope.destination);
    this.#requireRoom();
    const again: Job = { ...job, status: job.pass, error: null };
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    const resumed = await this.options.history.ask((database) => resumeJob(database, again, lease));
    if (!resumed) throw new Problem('conflict', 'The replay is still stopping or was already resumed');
    this.#run(again, resumed.orderly ? 'begun here' : 'taken over');
    return again;
  }

  /** Stops after the chunk that is being sent; another process continues there. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#looking.stop();
    await Promise.all([...this.#active.values()].map(({ ended }) => ended));
  }

  async #lookSafely(): Promise<void> {
    try {
      await this.look();
      this.#trouble = false;
    } catch (error) {
      // The history itself reports that its database is away.
      if (!this.#trouble) this.options.log.debug({ reason: messageOf(error) }, 'replays.poll_failed');
      this.#trouble = true;
    }
  }

  #requireRoom(): void {
    if (this.#active.size < MAX_ACTIVE) return;
    throw new Problem(
      'conflict',
      `${MAX_ACTIVE} replays are active, which is the limit. Wait for one to end or cancel it`,
    );
  }

  #run(job: Job, from: 'begun here' | 'taken over' = 'begun here'): void {
    if (this.#active.has(job.id)) return;
    const { history, now, log } = this.options;
    const held = new HeldJob(job, { history, now, log, owner: this.#owner, steadyMs: () => performance.now() });
    const ended = this.#loop(held, from === 'taken over' ? undefined : new Set()).finally(() =>
      this.#active.delete(job.id),
    );
    this.#active.set(job.id, { held, ended });
    log.info({ replay: job.id, destination: job.scope.destination, pass: job.pass, from }, 'replay.started');
  }

  /** @param sent deliveries sent after the last save; undefined: not known yet */
  async #loop(held: HeldJob, sent: ReadonlySet<string> | undefined): Promise<void> {
    const { log } = this.options;
    const { job } = held;
    const pace = new RateLimiter(job.maxPerSecond);
    while (this.#goesOn(held)) {
      try {
        if (!(await this.#historyIsThere(job))) {
          await sleep(PAUSE_MS);
          continue;
        }
        sent ??= await sentSinceCheckpoint(this.options.kafka, job);
        const place = currentPlace(job);
        if (place) await this.#piece(held, place, { pace, sent });
        else Object.assign(job, { sentUpTo: await this.options.kafka.ranges(ATTEMPTS) }, nextPass(job));
        await held.save();
      } catch (error) {
        // Kafka or the database is away: wait and retry.
        if (!isPassing(error)) Object.assign(job, { status: 'failed', error: 'an unexpected error; see the log' });
        log.warn({ replay: job.id, reason: messageOf(error) }, 'replay.interrupted');
        // An append without an answer may have succeeded.
        sent = undefined;
        await sleep(PAUSE_MS);
      }
    }
    await held.end();
    log.info({ replay: job.id, status: job.status, matched: job.matched, sent: job.sent }, 'replay.ended');
  }

  /** Checks the history: if it lags, it does not know recent deliveries, and the replay would repeat them. */
  async #historyIsThere(job: Job): Promise<boolean> {
    if (job.historyUpTo && !(await this.options.history.hasRead(job.historyUpTo))) return false;
    delete job.historyUpTo;
    return true;
  }

  /** Reads the next records of a partition, and counts or sends the candidates. */
  async #piece(
    held: HeldJob,
    place: Place,
    { pace, sent }: { pace: RateLimiter; sent: ReadonlySet<string> },
  ): Promise<void> {
    const { kafka, config, history } = this.options;
    const { job } = held;
    const topic = topicOf(job.scope);
    const { partition, next: from, end: to } = place;
    const { records, next } = await readPiece(kafka, { topic, partition, from, to, maxBytes: READ_BYTES });
    await history.learnDeletions();
    const candidates = records
      .flatMap((record) => candidateOf(record, job.scope, config) ?? [])
      .filter(({ delivery }) => !history.forgotten.has(asEvent(delivery)));
    const ids = candidates.map(({ delivery }) => delivery.id);
    const known = await history.ask((database) => knownOf(database, ids));
    const chosen = candidates.flatMap((candidate): Chosen[] => {
      const { id } = candidate.delivery;
      if (sent.has(id)) return [{ candidate, replay: 'sent' }];
      const replay = replayNumber(candidate, known.get(id), job.scope);
      return replay === undefined ? [] : [{ candidate, replay }];
    });
    if (job.pass === 'counting') job.matched += chosen.length;
    else if (!(await this.#send(held, place, { chosen, pace }))) return;
    place.next = next;
  }

  /** @returns whether all were sent: a cancelled job stops between two appends */
  async #send(
    held: HeldJob,
    place: Place,
    { chosen, pace }: { chosen: readonly Chosen[]; pace: RateLimiter },
  ): Promise<boolean> {
    const { job } = held;
    const { kafka, producer, windowMs, now } = this.options;
    const size = chunkOf(job.maxPerSecond);
    for (let i = 0; i < chosen.length; i += size) {
      const chunk = chosen.slice(i, i + size);
      const goOn = () => this.#goesOn(held);
      const fresh = chunk.flatMap(({ candidate, replay }) => (replay === 'sent' ? [] : [{ candidate, replay }]));
      await pace.take(fresh.length, goOn);
      await held.confirm();
      if (!goOn() || !held.maySend) return false;
      const context = { nowMs: now().getTime(), windowMs, job: job.id };
      await producer.send(fresh.flatMap(({ candidate, replay }) => replayRecords(candidate, replay, context)));
      job.sentUpTo = await kafka.ranges(ATTEMPTS);
      job.sent += chunk.length;
      place.next = (chunk.at(-1)?.candidate.record.offset ?? place.next) + 1;
      await held.save();
    }
    return true;
  }

  /** Also fails the job if its destination is off, which would cancel the deliveries. */
  #goesOn({ job, lost }: HeldJob): boolean {
    if (isActive(job) && !this.options.config.destination(job.scope.destination)?.data.enabled) {
      Object.assign(job, { status: 'failed', error: 'the destination was switched off or deleted' });
    }
    return isActive(job) && !lost && !this.#stopping;
  }

  async #places(scope: Scope): Promise<Place[]> {
    const { kafka } = this.options;
    const topic = topicOf(scope);
    const ranges = await kafka.ranges(topic, scope.from ?? undefined);
    // A dead letter is written long after the message was accepted, a message within `APPEND_SLACK_MS`.
    const ends = scope.origin === 'messages' ? await kafka.ranges(topic, scope.to + APPEND_SLACK_MS) : [];
    return ranges.map(({ partition, low, high }) => {
      const end = ends.find((each) => each.partition === partition)?.low ?? high;
      return { partition, low: Math.min(low, end), next: Math.min(low, end), end };
    });
  }
}

function isPassing(error: unknown): boolean {
  return (error instanceof Problem && error.code === 'unavailable') || (error instanceof AppError && error.retriable);
}
