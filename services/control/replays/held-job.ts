import { messageOf } from '../../../shared/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type Database } from '../history/database';
import { type History } from '../history/history';
import { type Lease } from '../history/leases';
import { releaseJob, renewJob, saveJob } from '../history/replays';
import { isActive, type Job } from './job';

/**
 * Longer than an append that was begun under the lease may take to reach Kafka (10 s, `GIVE_UP_MS` of service.ts, after
 * `SEND_WITHIN_MS`): the next owner then finds in `attempts` all that this one has sent.
 */
export const LEASE_MS = 13_000;
/** A record is given to Kafka so soon after the lease was last confirmed, or not at all. */
const SEND_WITHIN_MS = 2_000;

/** A job that this process runs, and the lease under which it does. */
export class HeldJob {
  #confirmedAt: number;
  #lost = false;
  #ended = false;

  constructor(
    readonly job: Job,
    private readonly options: {
      history: Pick<History, 'ask'>;
      owner: string;
      now: () => Date;
      /** ms by a clock that nobody sets; it must go on while the process is frozen */
      steadyMs: () => number;
      log: Log;
    },
  ) {
    this.#confirmedAt = options.steadyMs();
  }

  /** Whether another process may own it by now. */
  get lost(): boolean {
    return this.#lost;
  }

  /** Whether records may be given to Kafka at this moment. */
  get maySend(): boolean {
    return !this.#lost && this.options.steadyMs() - this.#confirmedAt < SEND_WITHIN_MS;
  }

  /** Renews the lease where that was too long ago to send. @throws Problem `unavailable` */
  async confirm(): Promise<void> {
    if (!this.#lost && !this.maySend) await this.renew();
  }

  /** Also learns that another process has cancelled it. @throws Problem `unavailable` */
  async renew(): Promise<void> {
    const { job } = this;
    await this.#ask(async (database, lease) => {
      const status = await renewJob(database, job.id, lease);
      // Its progress is written by `save`, when nothing more of it is on its way to Kafka.
      if (status === 'cancelled') job.status = status;
      return status !== undefined;
    });
  }

  /** Writes down how far it is. Where another process has cancelled it, that holds. @throws Problem `unavailable` */
  async save(): Promise<void> {
    const { job, options } = this;
    if (this.#ended) return;
    job.updatedAt = options.now().getTime();
    await this.#ask(async (database, lease) => {
      const outcome = await saveJob(database, job, lease);
      if (outcome === 'cancelled') job.status = 'cancelled';
      this.#ended = !isActive(job);
      return outcome !== 'lost';
    });
  }

  /** Writes down how it ended; or, where it is to go on elsewhere, lets the next process begin at once. */
  async end(): Promise<void> {
    const { job, options } = this;
    try {
      if (this.#lost) return;
      if (isActive(job)) await options.history.ask((database) => releaseJob(database, job.id, options.owner));
      else await this.save();
    } catch (error) {
      // Its lease runs out, and the process that takes it over finds out what was sent.
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
