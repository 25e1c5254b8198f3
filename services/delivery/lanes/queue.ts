import { LinkedList, type Link } from '../../../shared/collections/linked-list';
import { type QueuedBytes } from './queued-bytes';
import { DUE_SHARE, type Kind, kindOf } from './job';

/**
 * The queue of one lane: first attempts and due retries apart, in order of arrival, within a memory
 * limit.
 */

interface Waiting<J> extends Link<J> {
  readonly bytes: number;
  readonly due: boolean;
}

export class LaneQueue<J extends Waiting<J>> {
  readonly #jobs: Record<Kind, LinkedList<J>> = { fresh: new LinkedList(), due: new LinkedList() };
  #turn = 0;

  constructor(private readonly memory: QueuedBytes) {}

  get size(): number {
    return this.#jobs.fresh.size + this.#jobs.due.size;
  }

  count(kind: Kind): number {
    return this.#jobs[kind].size;
  }

  /** Returns whether the memory for queued bodies has room for the job. */
  hasRoom(job: J): boolean {
    return this.memory.hasRoom(job);
  }

  /** Returns all queued jobs. */
  waiting(): J[] {
    return [...this.#jobs.fresh.entries(), ...this.#jobs.due.entries()];
  }

  /** Adds a job at the end of its kind, or at the beginning. */
  push(job: J, goesAhead = false): void {
    if (goesAhead) this.#jobs[kindOf(job)].unshift(job);
    else this.#jobs[kindOf(job)].push(job);
    this.memory.add(job.bytes, 1);
  }

  /** Removes the first job of the wanted kind or, if there is none, of the other kind. */
  shift(wanted: Kind): J | undefined {
    const { fresh, due } = this.#jobs;
    return this.#leave(wanted === 'due' ? (due.first ?? fresh.first) : (fresh.first ?? due.first));
  }

  /** Returns the first job of this kind. */
  first(kind: Kind): J | undefined {
    return this.#jobs[kind].first;
  }

  /** Returns the newest job of this kind; one that went ahead of the others comes after them. */
  newest(kind: Kind): J | undefined {
    return this.#jobs[kind].last;
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
   * Returns how many jobs are through once a job queued now is: all queued ones, or fewer because
   * its kind has its share of the places.
   */
  through(kind: Kind): number {
    const own = this.#jobs[kind].size + 1;
    return Math.min(
      this.size + 1,
      kind === 'due' ? own * DUE_SHARE : (own * DUE_SHARE) / (DUE_SHARE - 1),
    );
  }

  #leave(job: J | undefined): J | undefined {
    if (!job || !this.#jobs[kindOf(job)].delete(job)) return undefined;
    this.memory.add(-job.bytes, -1);
    return job;
  }
}
