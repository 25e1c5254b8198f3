import { type ConfigView } from '../../../shared/config/view';
import { AppError, messageOf } from '../../../shared/errors';
import { Problem } from '../../../shared/http/problem';
import { type Appender, type Kafka } from '../../../shared/kafka/port';
import { DEAD, MESSAGES } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { type History } from '../history/history';
import { getJob, knownOf, saveJob, unfinishedJobs } from '../history/replays';
import { sentUnsaved } from './already';
import { type Candidate, candidateOf, replayNumber, replayRecords } from './candidates';
import { chunkOf, currentPlace, isActive, type Job, newJob, nextPass, type Place } from './job';
import { Pace } from './pace';
import { requireOn, type Scope, type Wanted } from './scope';

/**
 * Runs replays. Where a job stands is written down after each piece, so that a process that takes over goes on there;
 * what the piece under way had sent when the one before was killed is read from `attempts` (already.ts).
 */

const READ_BYTES = 512 * 1024;
/** More at once would share the same Kafka and the same database. */
const MAX_ACTIVE = 5;
const PAUSE_MS = 1_000;
/** A message is appended at most so long after it was accepted. */
const APPEND_SLACK_MS = 600_000;

/** What is to be sent, and its number; or what was sent and not written down. */
interface Chosen {
  candidate: Candidate;
  replay: number | 'sent';
}

export interface ReplaysOptions {
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  appender: Pick<Appender, 'append'>;
  history: Pick<History, 'ask'>;
  config: Pick<ConfigView, 'source' | 'destination'>;
  windowMs: number;
  now: () => Date;
  log: Log;
}

export class Replays {
  readonly #active = new Map<string, { job: Job; ended: Promise<void> }>();
  #stopping = false;

  constructor(private readonly options: ReplaysOptions) {}

  /** Goes on with what a process before this one has left, as soon as the history can be asked. */
  async resumeAll(): Promise<void> {
    while (!this.#stopping) {
      try {
        for (const job of await this.options.history.ask(unfinishedJobs)) this.#run(job, 'taken over');
        return;
      } catch (error) {
        this.options.log.debug({ reason: messageOf(error) }, 'replays.not_resumed');
        await pause(PAUSE_MS);
      }
    }
  }

  /** @throws Problem `conflict` where too many run */
  async start(wanted: Wanted, id: string): Promise<Job> {
    this.#requireRoom();
    const job = newJob(wanted, { id, now: this.options.now(), places: await this.#places(wanted.scope) });
    await this.#save(job);
    this.#run(job);
    return job;
  }

  /** As it stands at this moment. @throws Problem `not_found` */
  async get(id: string): Promise<Job> {
    const active = this.#active.get(id);
    const job = active?.job ?? (await this.options.history.ask((database) => getJob(database, id)));
    if (!job) throw new Problem('not_found', `There is no replay ${JSON.stringify(id.slice(0, 100))}`);
    return job;
  }

  /** Resolves when nothing more of it is sent. @throws Problem `not_found`, `conflict` where it has ended */
  async cancel(id: string): Promise<Job> {
    const job = await this.get(id);
    if (!isActive(job)) throw new Problem('conflict', `The replay is ${job.status} already`);
    job.status = 'cancelled';
    await this.#active.get(id)?.ended;
    await this.#save(job);
    return job;
  }

  /** Goes on where it was cancelled or failed. @throws Problem `not_found`, `conflict` */
  async resume(id: string): Promise<Job> {
    const job = await this.get(id);
    if (job.status !== 'cancelled' && job.status !== 'failed') {
      throw new Problem('conflict', `The replay is ${job.status}: only one that was cancelled or failed goes on`);
    }
    requireOn(this.options.config, job.scope.destination);
    this.#requireRoom();
    const again: Job = { ...job, status: job.pass, error: null };
    await this.#save(again);
    this.#run(again);
    return again;
  }

  /** Ends after the piece that is being sent; another process goes on there. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#active.values()].map(({ ended }) => ended));
  }

  #requireRoom(): void {
    if (this.#active.size < MAX_ACTIVE) return;
    throw new Problem('conflict', `${MAX_ACTIVE} replays run, which is the most at once; wait for one, or cancel it`);
  }

  #run(job: Job, from: 'begun here' | 'taken over' = 'begun here'): void {
    if (this.#active.has(job.id)) return;
    const ended = this.#loop(job, from === 'taken over' ? undefined : new Set()).finally(() =>
      this.#active.delete(job.id),
    );
    this.#active.set(job.id, { job, ended });
    this.options.log.info({ replay: job.id, destination: job.scope.destination, pass: job.pass }, 'replay.begun');
  }

  /** @param sent what it has sent and not written down; undefined: still to be found out */
  async #loop(job: Job, sent: ReadonlySet<string> | undefined): Promise<void> {
    const { log } = this.options;
    const pace = new Pace(job.maxPerSecond, () => this.options.now().getTime());
    while (isActive(job) && !this.#stopping) {
      try {
        sent ??= await sentUnsaved(this.options.kafka, job);
        const place = currentPlace(job);
        if (place) await this.#piece(job, place, { pace, sent });
        else Object.assign(job, nextPass(job));
        await this.#save(job);
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
    if (job.status === 'failed') await this.#save(job).catch(() => undefined);
    log.info({ replay: job.id, status: job.status, matched: job.matched, sent: job.sent }, 'replay.ended');
  }

  /** Reads on in a partition, and counts or sends what it finds. */
  async #piece(job: Job, place: Place, { pace, sent }: { pace: Pace; sent: ReadonlySet<string> }): Promise<void> {
    const { kafka, config, history } = this.options;
    if (!this.#goesOn(job)) return;
    const topic = topicOf(job.scope);
    const fetched = await kafka.read({ topic, partition: place.partition, offset: place.next, maxBytes: READ_BYTES });
    if (fetched.gone || fetched.next <= place.next) {
      place.next = await this.#skipTo(topic, place);
      return;
    }
    const candidates = fetched.records
      .filter(({ offset }) => offset < place.end)
      .flatMap((record) => candidateOf(record, job.scope, config) ?? []);
    const ids = candidates.map(({ delivery }) => delivery.id);
    const known = await history.ask((database) => knownOf(database, ids));
    const chosen = candidates.flatMap((candidate): Chosen[] => {
      const { id } = candidate.delivery;
      if (sent.has(id)) return [{ candidate, replay: 'sent' }];
      const replay = replayNumber(candidate, known.get(id), job.scope);
      return replay === undefined ? [] : [{ candidate, replay }];
    });
    if (job.pass === 'counting') job.matched += chosen.length;
    else if (!(await this.#send(job, place, { chosen, pace }))) return;
    place.next = fetched.next;
  }

  /** @returns whether all were sent: a job that is cancelled stops between two appends */
  async #send(job: Job, place: Place, { chosen, pace }: { chosen: readonly Chosen[]; pace: Pace }): Promise<boolean> {
    const { appender, windowMs, now } = this.options;
    const size = chunkOf(job.maxPerSecond);
    for (let i = 0; i < chosen.length; i += size) {
      const chunk = chosen.slice(i, i + size);
      const goOn = () => this.#goesOn(job);
      const fresh = chunk.flatMap(({ candidate, replay }) => (replay === 'sent' ? [] : [{ candidate, replay }]));
      await pace.take(fresh.length, goOn);
      if (!goOn()) return false;
      const context = { nowMs: now().getTime(), windowMs, job: job.id };
      await appender.append(fresh.flatMap(({ candidate, replay }) => replayRecords(candidate, replay, context)));
      job.sent += chunk.length;
      place.next = (chunk.at(-1)?.candidate.record.offset ?? place.next) + 1;
      await this.#save(job);
    }
    return true;
  }

  /** Also whether its destination is still on: what it got would be cancelled. */
  #goesOn(job: Job): boolean {
    if (!this.options.config.destination(job.scope.destination)?.data.enabled) {
      Object.assign(job, { status: 'failed', error: 'the destination was switched off or deleted' });
    }
    return isActive(job) && !this.#stopping;
  }

  /** Past what Kafka no longer keeps, or past what holds no record. */
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

  async #save(job: Job): Promise<void> {
    job.updatedAt = this.options.now().getTime();
    await this.options.history.ask((database) => saveJob(database, job));
  }
}

function topicOf({ origin }: Scope): string {
  return origin === 'dead_letters' ? DEAD : MESSAGES;
}

function isPassing(error: unknown): boolean {
  return (error instanceof Problem && error.code === 'unavailable') || (error instanceof AppError && error.retriable);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
