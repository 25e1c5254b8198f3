import { CompactingMap } from '../../../shared/service/compacting-map';
import { DUE_SHARE, type Kind, kindOf } from './types';

/** The queue of one lane: first attempts and due retries apart, in order of arrival, within a memory limit. */

interface Waiting {
  readonly bytes: number;
  readonly due: boolean;
}

/** Totals of the queues of all lanes. */
export interface Queued {
  count: number;
  bytes: number;
}

export class LaneQueue<J extends Waiting> {
  readonly #jobs: Record<Kind, Fifo<J>> = { fresh: new Fifo(), due: new Fifo() };
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
    return [...this.#jobs.fresh.values(), ...this.#jobs.due.values()];
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
    const [first, second] = wanted === 'due' ? [due, fresh] : [fresh, due];
    return this.#left(first.shift() ?? second.shift());
  }

  /** Removes the newest job of this kind. */
  pop(kind: Kind): J | undefined {
    return this.#left(this.#jobs[kind].pop());
  }

  /** @returns whether the job was queued */
  remove(job: J): boolean {
    return this.#jobs[kindOf(job)].delete(job) && this.#left(job) !== undefined;
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

  #left(job: J | undefined): J | undefined {
    if (!job) return undefined;
    this.#bytes -= job.bytes;
    this.all.bytes -= job.bytes;
    this.all.count--;
    return job;
  }
}

/**
 * First in, first out, with removal from the middle, each in constant time. (Neither an array nor a `Set` does this: an
 * array moves all later elements, and a `Set` iterates over removed entries.)
 */

interface Node<T> {
  readonly value: T;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

/** Holds each value at most once. */
export class Fifo<T extends object> {
  readonly #nodes = new CompactingMap<T, Node<T>>();
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Returns the values in insertion order. */
  values(): T[] {
    return [...this.#nodes.keys()];
  }

  has(value: T): boolean {
    return this.#nodes.has(value);
  }

  push(value: T): void {
    if (this.#nodes.has(value)) return;
    const node: Node<T> = { value, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = node;
    else this.#first = node;
    this.#last = node;
    this.#nodes.set(value, node);
  }

  /** Removes and returns the first value. */
  shift(): T | undefined {
    return this.#take(this.#first);
  }

  /** Removes and returns the last value. */
  pop(): T | undefined {
    return this.#take(this.#last);
  }

  /** @returns whether the value was present */
  delete(value: T): boolean {
    return this.#take(this.#nodes.get(value)) !== undefined;
  }

  #take(node: Node<T> | undefined): T | undefined {
    if (!node) return undefined;
    if (node.before) node.before.after = node.after;
    else this.#first = node.after;
    if (node.after) node.after.before = node.before;
    else this.#last = node.before;
    // Unlink: an old node must not keep later nodes in memory (compacting-map.ts).
    node.before = node.after = undefined;
    this.#nodes.delete(node.value);
    return node.value;
  }
}
