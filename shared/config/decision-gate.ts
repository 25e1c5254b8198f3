import { type ConfigReader } from './types';

/**
 * Holds what a `config` that is behind might decide wrongly, until this process knows `config` as it stood when the item
 * came. That costs no request: the reader of `config` proves its end about ten times a second. While Kafka cannot be
 * read, items wait.
 */

/** How the knowledge of `config` has moved since an item was last decided. */
export interface Knowledge {
  /** `config` is known as of the time when the item came, or later: the decision is final */
  current: boolean;
  /** records of `config` were read since, or nothing was decided yet: the decision may be another */
  changed: boolean;
}

const AT_FIRST: Knowledge = { current: false, changed: true };

export class DecisionGate<T> {
  #held: Held<T>[] = [];
  #changes: number;

  /** @param decide returns whether the item is decided, and need not be held any longer */
  constructor(
    private readonly config: Pick<ConfigReader, 'completeAt' | 'changes' | 'onComplete'>,
    private readonly decide: (item: T, knowledge: Knowledge) => boolean,
    /** called with what `decide` throws: the item stays held */
    private readonly onFatal: (error: unknown) => void,
  ) {
    this.#changes = config.changes;
    config.onComplete(() => this.#look());
  }

  get size(): number {
    return this.#held.length;
  }

  /** how long the oldest is held, ms; 0 where none is */
  get oldestMs(): number {
    const [oldest] = this.#held;
    return oldest ? performance.now() - oldest.sinceMs : 0;
  }

  /** Decides an item that came now, or holds it. */
  offer(item: T): void {
    if (this.decide(item, AT_FIRST)) return;
    this.#held.push({ item, sinceMs: performance.now() });
  }

  /** Lets go of the items that `take` returns true for. */
  release(take: (item: T) => boolean): void {
    this.#keepUnless(({ item }) => take(item));
  }

  #look(): void {
    const { completeAt, changes } = this.config;
    const changed = changes !== this.#changes;
    this.#changes = changes;
    if (this.#held.length === 0) return;
    this.#keepUnless(({ item, sinceMs }) => this.decide(item, { current: sinceMs <= completeAt, changed }));
  }

  #guarded(held: Held<T>, take: (held: Held<T>) => boolean): boolean {
    try {
      return take(held);
    } catch (error) {
      this.onFatal(error);
      return false;
    }
  }

  #keepUnless(take: (held: Held<T>) => boolean): void {
    const held = this.#held;
    this.#held = [];
    const kept = held.filter((each) => !this.#guarded(each, take));
    // What was added meanwhile came later.
    this.#held = kept.concat(this.#held);
  }
}

interface Held<T> {
  item: T;
  /** by `performance.now()` */
  sinceMs: number;
}
