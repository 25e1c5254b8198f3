import { Chain, type Link } from '../../../shared/service/chain';
import { DUE_SHARE, type Kind, kindOf } from './types';

/** The queue of one lane: first attempts and due retries apart, in order of arrival, within a memory limit. */

interface Waiting<J> extends Link<J> {
  readonly bytes: number;
  readonly due: boolean;
}

/** Totals of the queues of all lanes. */
export interface Queued {
  count: number;
  bytes: number;
}

export class LaneQueue<J extends Waiting<J>> {
  readonly #jobs: Record<Kind, Chain<J>> = { fresh: new Chain(), due: new Chain() };
  #bytes = 0;
  #turn = 0;

  /** @param maxBytes for all lanes together */
  constructor(
    private readonly all: Queued,
    private readonly maxBytes: number,
  ) {}

  get size(): number {
    return this.#jobs.fresh.size + this.#jobs.due.size;
  }

  count(kind: Kind): number {
    return this.#jobs[kind].size;
  }

  /**
   * Each lane may take as much memory as is left free, so that a few large lanes always leave room for the next.
   * Retries may take half of it.
   */
  hasRoom({ bytes, due }: J): boolean {
    const free = Math.max(0, this.maxBytes - this.all.bytes);
    return this.#bytes + bytes <= (due ? free / 2 : free);
  }

  /** Returns all queued jobs. */
  waiting(): J[] {
    return [...this.#jobs.fresh.entries(), ...this.#jobs.due.entries()];
  }

  push(job: J): void {
    this.#jobs[kindOf(job)].push(job);
    this.#bytes += job.bytes;
    this.all.bytes += job.bytes;
    this.all.count++;
  }

  /** Removes the first job of the wanted kind or, if there is none, of the other kind. */
  shift(wanted: Kind): J | undefined {
    const { fresh, due } = this.#jobs;
    return this.#leave(wanted === 'due' ? (due.first ?? fresh.first) : (fresh.first ?? due.first));
  }

  /** Removes the newest job of this kind. */
  pop(kind: Kind): J | undefined {
    return this.#leave(this.#jobs[kind].last);
  }

  /** @returns whether the job was queued */
  remove(job: J): boolean {
    return this.#leave(job) !== undefined;
  }

  /** Returns the kind to start next: while both wait, one in `DUE_SHARE` is a due retry. */
  turn(): Kind {
    const { fresh, due } = this.#jobs;
    if (fresh.size === 0) return 'due';
    return due.size > 0 && ++this.#turn % DUE_SHARE === 0 ? 'due' : 'fresh';
  }

  /**
   * Returns how many jobs are through once a job queued now is: all queued ones, or fewer because its kind has its
   * share of the places.
   */
  through(kind: Kind): number {
    const own = this.#jobs[kind].size + 1;
    return Math.min(this.size + 1, kind === 'due' ? own * DUE_SHARE : (own * DUE_SHARE) / (DUE_SHARE - 1));
  }

  #leave(job: J | undefined): J | undefined {
    if (!job || !this.#jobs[kindOf(job)].delete(job)) return undefined;
    this.#bytes -= job.bytes;
    this.all.bytes -= job.bytes;
    this.all.count--;
    return job;
  }
}
