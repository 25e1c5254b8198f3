import { randomUUID } from 'node:crypto';
import { type ConfigView } from '../../../shared/config/types';
import { AppError, messageOf } from '../../../shared/service/errors';
import { Problem } from '../http/problem';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { type History } from '../history/history';
import { addJob, cancelJob, claimJobs, getJob, isFree, knownOf, resumeJob } from './store';
import { Periodic } from '../../../shared/service/periodic';
import { sentSinceCheckpoint } from './sent-since-checkpoint';
import { asEvent, type Candidate, candidateOf, replayNumber, replayRecords } from './candidates';
import { chunkOf, currentPlace, isActive, type Job, newJob, nextPass, type Place } from './job';
import { HeldJob, LEASE_MS } from './held-job';
import { RateLimiter } from './rate-limiter';
import { requireOn, type Scope, topicOf, type Wanted } from './scope';

/**
 * Runs replays. Where a job stands is written down after each piece, so that a process that takes over goes on there;
 * what the piece under way had sent when the one before was killed is read from `attempts` (sent-since-checkpoint.ts).
 *
 * Several control processes share the jobs: each job has an owner with a lease (held-job.ts). A process takes over jobs
 * whose lease ran out, and stops a job at the next chunk when the lease is another's.
 */

const READ_BYTES = 512 * 1024;
/** More at once would share the same Kafka and the same database. */
const MAX_ACTIVE = 5;
const PAUSE_MS = 1_000;
/** How often a process looks for jobs to take over and for cancels through other processes. One small query each time. */
const LOOK_EVERY_MS = 1_000;
const CANCEL_LOOK_MS = 50;
/** A message is appended at most so long after it was accepted. */
const APPEND_SLACK_MS = 600_000;

/** What is to be sent, and its number; or what was sent and not written down. */
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

  /** @throws Problem `conflict` where too many run */
  async start(wanted: Wanted, id: string): Promise<Job> {
    this.#requireRoom();
    const { kafka, history, now } = this.options;
    const [places, historyUpTo] = await Promise.all([this.#places(wanted.scope), kafka.ranges(ATTEMPTS)]);
    const job = newJob(wanted, { id, now: now(), places, historyUpTo });
    await history.ask((database) => addJob(database, job, { owner: this.#owner, forMs: LEASE_MS }));
    this.#run(job);
    return job;
  }

  /** As it stands at this moment. @throws Problem `not_found` */
  async get(id: string): Promise<Job> {
    const active = this.#active.get(id);
    const job = active?.held.job ?? (await this.options.history.ask((database) => getJob(database, id)));
    if (!job) throw new Problem('not_found', `Unknown replay ${JSON.stringify(id.slice(0, 100))}`);
    return job;
  }

  /**
   * Resolves when the process that runs it, this one or another, sends nothing more of it.
   * @throws Problem `not_found`, `conflict` where it has ended
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
    while (!(await history.ask((database) => isFree(database, id)))) await pause(CANCEL_LOOK_MS);
    return this.get(id);
  }

  /** Goes on where it was cancelled or failed. @throws Problem `not_found`, `conflict` */
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

  /** Ends after the piece that is being sent; another process goes on there. */
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
      // The history reports by itself that its database is away.
      if (!this.#trouble) this.options.log.debug({ reason: messageOf(error) }, 'replays.not_looked_at');
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
    log.info({ replay: job.id, destination: job.scope.destination, pass: job.pass, from }, 'replay.begun');
  }

  /** @param sent what it has sent and not written down; undefined: still to be found out */
  async #loop(held: HeldJob, sent: ReadonlySet<string> | undefined): Promise<void> {
    const { log } = this.options;
    const { job } = held;
    const pace = new RateLimiter(job.maxPerSecond, () => this.options.now().getTime());
    while (this.#goesOn(held)) {
      try {
        if (!(await this.#historyIsThere(job))) {
          await pause(PAUSE_MS);
          continue;
        }
        sent ??= await sentSinceCheckpoint(this.options.kafka, job);
        const place = currentPlace(job);
        if (place) await this.#piece(held, place, { pace, sent });
        else Object.assign(job, { sentUpTo: await this.options.kafka.ranges(ATTEMPTS) }, nextPass(job));
        await held.save();
      } catch (error) {
        // Kafka or the database is away: it waits for them.
        if (!isPassing(error))
          Object.assign(job, { status: 'failed', error: 'something went wrong; the log tells more' });
        log.warn({ replay: job.id, reason: messageOf(error) }, 'replay.interrupted');
        // What Kafka did not answer to may be there all the same.
        sent = undefined;
        await pause(PAUSE_MS);
      }
    }
    await held.end();
    log.info({ replay: job.id, status: job.status, matched: job.matched, sent: job.sent }, 'replay.ended');
  }

  /** A history that lags does not know of recent deliveries, and the replay would repeat them. */
  async #historyIsThere(job: Job): Promise<boolean> {
    if (job.historyUpTo && !(await this.options.history.hasRead(job.historyUpTo))) return false;
    delete job.historyUpTo;
    return true;
  }

  /** Reads on in a partition, and counts or sends what it finds. */
  async #piece(
    held: HeldJob,
    place: Place,
    { pace, sent }: { pace: RateLimiter; sent: ReadonlySet<string> },
  ): Promise<void> {
    const { kafka, config, history } = this.options;
    const { job } = held;
    const topic = topicOf(job.scope);
    const { partition, next: offset, end: until } = place;
    const fetched = await kafka.read({ topic, partition, offset, until, maxBytes: READ_BYTES });
    if (fetched.gone) {
      place.next = await this.#skipTo(topic, place);
      return;
    }
    await history.learnDeletions();
    const candidates = fetched.records
      .filter(({ offset }) => offset < place.end)
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
    place.next = fetched.next;
  }

  /** @returns whether all were sent: a job that is cancelled stops between two appends */
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

  /** Also whether its destination is still on: what it got would be cancelled. */
  #goesOn({ job, lost }: HeldJob): boolean {
    if (isActive(job) && !this.options.config.destination(job.scope.destination)?.data.enabled) {
      Object.assign(job, { status: 'failed', error: 'the destination was switched off or deleted' });
    }
    return isActive(job) && !lost && !this.#stopping;
  }

  /** Past what Kafka no longer keeps. */
  async #skipTo(topic: string, { partition, next, end }: Place): Promise<number> {
    const range = (await this.options.kafka.ranges(topic)).find((each) => each.partition === partition);
    return range && range.low > next ? Math.min(range.low, end) : end;
  }

  async #places(scope: Scope): Promise<Place[]> {
    const { kafka } = this.options;
    const topic = topicOf(scope);
    const ranges = await kafka.ranges(topic, scope.from ?? undefined);
    // A dead letter is written long after its acceptance; a message at once.
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

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
