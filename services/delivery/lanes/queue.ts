import { Fifo } from './fifo';
import { DUE_SHARE, type Kind } from './socket-shares';

/** What waits in one lane: first attempts and due retries apart, in the order they came, within a bound of memory. */

interface Waiting {
  readonly bytes: number;
  readonly due: boolean;
}

/** What is queued in all lanes. */
export interface Queued {
  count: number;
  bytes: number;
}

export class LaneQueue<J extends Waiting> {
  readonly #jobs: Record<Kind, Fifo<J>> = { fresh: new Fifo(), due: new Fifo() };
  #bytes = 0;
  #turn = 0;

  /** @param maxBytes of all lanes together */
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

  /** Each lane may hold as much as is left free: a few large ones always leave room for the next. Retries half of it. */
  hasRoom({ bytes, due }: J): boolean {
    const free = Math.max(0, this.maxBytes - this.all.bytes);
    return this.#bytes + bytes <= (due ? free / 2 : free);
  }

  /** All that wait. */
  waiting(): J[] {
    return [...this.#jobs.fresh.values(), ...this.#jobs.due.values()];
  }

  push(job: J): void {
    this.#jobs[kindOf(job)].push(job);
    this.#bytes += job.bytes;
    this.all.bytes += job.bytes;
    this.all.count++;
  }

  /** Takes the first, of the other kind where there is none of the wanted one. */
  shift(wanted: Kind): J | undefined {
    const { fresh, due } = this.#jobs;
    const [first, second] = wanted === 'due' ? [due, fresh] : [fresh, due];
    return this.#left(first.shift() ?? second.shift());
  }

  /** Takes the newest. */
  pop(kind: Kind): J | undefined {
    return this.#left(this.#jobs[kind].pop());
  }

  /** @returns whether it was in it */
  remove(job: J): boolean {
    return this.#jobs[kindOf(job)].delete(job) && this.#left(job) !== undefined;
  }

  /** Whose turn it is: while both wait, one in so many is a due retry. */
  turn(): Kind {
    const { fresh, due } = this.#jobs;
    if (fresh.size === 0) return 'due';
    return due.size > 0 && ++this.#turn % DUE_SHARE === 0 ? 'due' : 'fresh';
  }

  /** How many are through when one that came now is: all that wait, or fewer since its kind has its part of the places. */
  through(kind: Kind): number {
    const own = this.#jobs[kind].size + 1;
    return Math.min(this.size + 1, kind === 'due' ? own * DUE_SHARE : (own * DUE_SHARE) / (DUE_SHARE - 1));
  }

  #left(job: J | undefined): J | undefined {
    if (!job) return undefined;
    this.#bytes -= job.bytes;
    this.all.bytes -= job.bytes;
    this.all.count--;
    return job;
  }
}

export function kindOf({ due }: { due: boolean }): Kind {
  return due ? 'due' : 'fresh';
}
