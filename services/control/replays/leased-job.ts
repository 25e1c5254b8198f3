import { messageOf } from '../../../shared/runtime/errors';
import { type ConfigView } from '../../../shared/config/types';
import { type Log } from '../../../shared/telemetry/log';
import { type Asking, type Database } from '../history/database';
import { type Lease } from '../history/leases';
import { releaseJob, renewJob, saveJob } from './store';
import { isActive, type Job } from './job';

/**
 * Longer than `SEND_WITHIN_MS` and the longest append (10 s, `GIVE_UP_MS` of assemble.ts) together:
 * the next owner then finds every record that this one sent (unsaved.ts).
 */
export const LEASE_MS = 13_000;
/**
 * The runner gives a record to Kafka within this time after the lease was confirmed, or not at all.
 */
const SEND_WITHIN_MS = 2_000;

/** A job that this process runs under a lease. */
export class LeasedJob {
  #confirmedAt: number;
  #lost = false;
  #ended = false;

  constructor(
    readonly job: Job,
    private readonly options: {
      history: Asking;
      config: Pick<ConfigView, 'destination'>;
      owner: string;
      /** Returns whether this process ends. */
      isStopping: () => boolean;
      now: () => Date;
      /** ms by a monotonic clock, which must go on while the process is stopped */
      steadyMs: () => number;
      log: Log;
    },
  ) {
    this.#confirmedAt = options.steadyMs();
  }

  /** True once another process may own the job. */
  get lost(): boolean {
    return this.#lost;
  }

  /** True while the runner may give records to Kafka. */
  get maySend(): boolean {
    return !this.#lost && this.options.steadyMs() - this.#confirmedAt < SEND_WITHIN_MS;
  }

  /** Also fails the job if its destination is off, which would cancel the deliveries. */
  goesOn(): boolean {
    const { job } = this;
    const { config, isStopping } = this.options;
    const isOff = !config.destination(job.scope.destination)?.data.enabled;
    if (isActive(job) && job.action !== 'cancel' && isOff) {
      Object.assign(job, {
        status: 'failed',
        error: 'the destination was switched off or deleted',
      });
    }
    return isActive(job) && !this.#lost && !isStopping();
  }

  /** Renews the lease if it is too old to send under. @throws Problem `unavailable` */
  async confirm(): Promise<void> {
    if (!this.#lost && !this.maySend) await this.renew();
  }

  /** Renews the lease, and reads a cancel through another process. @throws Problem `unavailable` */
  async renew(): Promise<void> {
    const { job } = this;
    await this.#ask(async (database, lease) => {
      const status = await renewJob(database, job.id, lease);
      // `save` writes the progress, once no append is under way.
      if (status === 'cancelled') job.status = status;
      return status !== undefined;
    });
  }

  /**
   * Saves the progress. A cancel through another process stays in effect. @throws Problem
   * `unavailable`
   */
  async save(): Promise<void> {
    const { job, options } = this;
    if (this.#ended) return;
    job.updatedAt = options.now().getTime();
    await this.#ask(async (database, lease) => {
      const saved = await saveJob(database, job, lease);
      if (saved === 'cancelled') job.status = 'cancelled';
      this.#ended = !isActive(job);
      return saved !== 'lost';
    });
  }

  /** Saves how the job ended, or releases an unfinished job to the next process. */
  async end(): Promise<void> {
    const { job, options } = this;
    try {
      if (this.#lost) return;
      if (isActive(job)) {
        await options.history.ask((database) => releaseJob(database, job.id, options.owner));
      } else await this.save();
    } catch (error) {
      // The lease expires, and the next owner finds the records that were sent.
      options.log.warn({ replay: job.id, reason: messageOf(error) }, 'replay.not_ended');
    }
  }

  async #ask(isMine: (database: Database, lease: Lease) => Promise<boolean>): Promise<void> {
    const { history, owner, steadyMs, log } = this.options;
    const askedAt = steadyMs();
    if (await history.ask((database) => isMine(database, { owner, forMs: LEASE_MS }))) {
      this.#confirmedAt = askedAt;
      return;
    }
    this.#lost = true;
    log.info({ replay: this.job.id }, 'replay.lost');
  }
}
