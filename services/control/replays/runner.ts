import { randomUUID } from 'node:crypto';
import { Periodic, sleep } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { Problem, unknownId } from '../http/problem';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { addJob, cancelJob, claimJobs, getJob, isFree, resumeJob } from './store';
import {
  isActive,
  type Job,
  newJob,
  newRecallJob,
  type ReplayCursor,
  readsMessages,
  type Scope,
  shownStatus,
  topicOf,
  type WantedReplay,
} from './job';
import { EARLIEST_MS } from './find-message';
import { LeasedJob, LEASE_MS } from './leased-job';
import { requireOn } from './require';
import { JobRun, type ReplayDeps } from './job-run';
import { RecallRun, stopRecord } from './recall-run';

/**
 * Starts, cancels and resumes replays, and runs them (job-run.ts).
 *
 * Several control processes share the jobs: each job has an owner with a lease (leased-job.ts). A
 * process takes over jobs with an expired lease, and stops a job at the next chunk if another
 * process holds the lease.
 */

/** More replays would only share the same Kafka and the same database. */
const MAX_ACTIVE = 5;
/**
 * Limit for cancellations that only count, which `MAX_ACTIVE` leaves out. Each asks Kafka every two
 * seconds.
 */
const MAX_COUNTING = 20;
/**
 * Interval in which a process looks for jobs to take over, and for cancels through other processes.
 * One small query each time.
 */
const POLL_EVERY_MS = 1_000;
/**
 * A process alone only renews its leases, and finds the jobs that a failure of the database has
 * left without an owner. Shorter than `LEASE_MS`.
 */
const POLL_ALONE_MS = 10_000;
const CANCEL_POLL_MS = 50;
/** Longest time between the acceptance of a message and its append. */
const APPEND_SLACK_MS = 600_000;

interface Active {
  leased: LeasedJob;
  ended: Promise<void>;
}

export class Replays {
  readonly #active = new Map<string, Active>();
  readonly #owner = randomUUID();
  readonly #polling: Periodic;
  /** jobs that begin now, and count as active ones */
  #beginning = 0;
  #stopping = false;

  /** @param options.isOnlyProcess no other process uses the database */
  constructor(private readonly options: ReplayDeps & { isOnlyProcess: boolean }) {
    const everyMs = options.isOnlyProcess ? POLL_ALONE_MS : POLL_EVERY_MS;
    this.#polling = new Periodic(
      everyMs,
      () => this.poll(),
      // The history itself reports that its database is away.
      (error) => options.log.debug({ reason: messageOf(error) }, 'replays.poll_failed'),
    );
  }

  /** Takes over jobs of processes that have ended, now and every few seconds. */
  watch(): void {
    this.#polling.start();
    void this.#polling.now();
  }

  /**
   * Renews the leases of its jobs, and takes over jobs without a living owner. @throws Problem
   * `unavailable`
   */
  async poll(): Promise<void> {
    for (const { leased } of this.#active.values()) await leased.renew();
    const room = this.#stopping ? 0 : MAX_ACTIVE - this.#busy;
    if (room <= 0) return;
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    for (const job of await this.options.history.ask((database) =>
      claimJobs(database, room, lease),
    )) {
      this.#run(job, 'taken over');
    }
  }

  /** @throws Problem `conflict` if too many replays run */
  start(wanted: WantedReplay, id: string): Promise<Job> {
    const { kafka, now } = this.options;
    return this.#begin(async () => {
      const [places, historyUpTo] = await Promise.all([
        this.#places(wanted.scope),
        kafka.ranges(ATTEMPTS),
      ]);
      return this.#add(newJob(wanted, { id, now: now(), places, historyUpTo }));
    });
  }

  /**
   * Sends or cancels all that waits at a destination. @throws Problem `conflict` if too many jobs
   * run
   */
  startRecall(wanted: Parameters<typeof newRecallJob>[0], id: string): Promise<Job> {
    return this.#begin(() => this.#add(newRecallJob(wanted, { id, now: this.options.now() })));
  }

  /** Returns the current state. @throws Problem `not_found` */
  async get(id: string): Promise<Job> {
    const active = this.#active.get(id);
    const job =
      active?.leased.job ?? (await this.options.history.ask((database) => getJob(database, id)));
    if (!job) throw unknownId('replay', id);
    return job;
  }

  /**
   * Resolves once the process that runs it, this one or another, has stopped sending.
   * @throws Problem `not_found`; `conflict` if it has ended
   */
  async cancel(id: string): Promise<Job> {
    const { history, producer } = this.options;
    const job = await this.get(id);
    if (shownStatus(job) === 'done') throw new Problem('conflict', 'The replay is already done');
    // The process that runs the job sends one, too, but may end before.
    if (job.action && isActive(job)) await producer.send([stopRecord(job)]);
    if (!(await history.ask((database) => cancelJob(database, id)))) {
      throw new Problem('conflict', `The replay is already ${(await this.get(id)).status}`);
    }
    const active = this.#active.get(id);
    if (active) {
      active.leased.job.status = 'cancelled';
      await active.ended;
    }
    while (!(await history.ask((database) => isFree(database, id)))) await sleep(CANCEL_POLL_MS);
    return this.get(id);
  }

  /** Continues a cancelled or failed replay. @throws Problem `not_found`, `conflict` */
  async resume(id: string): Promise<Job> {
    const job = await this.get(id);
    if (job.status !== 'cancelled' && job.status !== 'failed') {
      throw new Problem(
        'conflict',
        `The replay is ${shownStatus(job)}. Only a cancelled or failed replay can be resumed`,
      );
    }
    if (job.action) {
      throw new Problem('conflict', `A ${job.action} cannot be resumed. Request it again`);
    }
    requireOn(this.options.config, job.scope.destination);
    const { results: _, ...unfinished } = job;
    const again: Job = { ...unfinished, status: job.pass, error: null };
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    return this.#begin(async () => {
      if (!(await this.options.history.ask((database) => resumeJob(database, again, lease)))) {
        throw new Problem('conflict', 'The replay is still stopping or was already resumed');
      }
      return again;
    });
  }

  /** Stops after the chunk that is being sent; another process continues there. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#polling.stop();
    await Promise.all([...this.#active.values()].map(({ ended }) => ended));
  }

  get #busy(): number {
    return this.#beginning + this.#active.size - this.#counting.length;
  }

  /** Cancellations that only count, the oldest first. */
  get #counting(): Job[] {
    const jobs = [...this.#active.values()].map(({ leased }) => leased.job);
    return jobs.filter((job) => shownStatus(job) === 'done');
  }

  /**
   * Runs a job once it is stored.
   * @throws Problem `conflict` if too many run, or begin at the same time
   */
  async #begin(store: () => Promise<Job>): Promise<Job> {
    if (this.#busy >= MAX_ACTIVE) {
      throw new Problem(
        'conflict',
        `${MAX_ACTIVE} replays are active, which is the limit. Wait for one to end or cancel it`,
      );
    }
    this.#beginning++;
    try {
      const job = await store();
      this.#run(job);
      return job;
    } finally {
      this.#beginning--;
    }
  }

  async #add(job: Job): Promise<Job> {
    const lease = { owner: this.#owner, forMs: LEASE_MS };
    await this.options.history.ask((database) => addJob(database, job, lease));
    return job;
  }

  #run(job: Job, from: 'begun here' | 'taken over' = 'begun here'): void {
    if (this.#active.has(job.id)) return;
    // The oldest ones have the least left to count.
    for (const counting of this.#counting.slice(0, -MAX_COUNTING)) counting.status = 'done';
    const { log } = this.options;
    const leased = new LeasedJob(job, {
      ...this.options,
      owner: this.#owner,
      isStopping: () => this.#stopping,
    });
    const ended = this.#toEnd(leased).finally(() => this.#active.delete(job.id));
    this.#active.set(job.id, { leased, ended });
    log.info(
      { replay: job.id, destination: job.scope.destination, pass: job.pass, from },
      'replay.started',
    );
  }

  #toEnd(leased: LeasedJob): Promise<void> {
    const run = leased.job.action ? RecallRun : JobRun;
    return new run(leased, this.options).toEnd();
  }

  async #places(scope: Scope): Promise<ReplayCursor[]> {
    const { kafka } = this.options;
    const topic = topicOf(scope);
    // The clock of ingest may be ahead of that of a broker.
    const fromMs = scope.from == null ? undefined : scope.from - EARLIEST_MS;
    const ranges = await kafka.ranges(topic, fromMs);
    // A dead letter is written long after the message was accepted, a message within
    // `APPEND_SLACK_MS`.
    const ends = readsMessages(scope) ? await kafka.ranges(topic, scope.to + APPEND_SLACK_MS) : [];
    return ranges.map(({ partition, low, high }) => {
      const end = ends.find((each) => each.partition === partition)?.low ?? high;
      return { partition, low: Math.min(low, end), next: Math.min(low, end), end };
    });
  }
}
