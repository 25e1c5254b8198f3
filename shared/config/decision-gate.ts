import { type ConfigReader } from './types';

/**
 * Holds items that an outdated `config` might decide wrongly, until this process knows `config` as
 * of the item's arrival. The first held item makes the reader of `config` look for its end at once.
 * Then the reader reaches the end about ten times a second, without further requests. While Kafka
 * cannot be read, items wait.
 */

/** The part of `config` that a gate reads. */
export type GateConfig = Pick<ConfigReader, 'completeAt' | 'changes' | 'expectSoon' | 'onComplete'>;

/** Returns the knowledge of two logs as that of one, which is complete up to where both are. */
export function bothKnown(one: GateConfig, other: GateConfig): GateConfig {
  return {
    get completeAt() {
      return Math.min(one.completeAt, other.completeAt);
    },
    get changes() {
      return one.changes + other.changes;
    },
    expectSoon: () => {
      one.expectSoon();
      other.expectSoon();
    },
    onComplete: (listener) => {
      one.onComplete(listener);
      other.onComplete(listener);
    },
  };
}

/** The change in the knowledge of `config` since an item was last decided. */
export interface Knowledge {
  /** `config` is known as of the item's arrival, or later: the decision is final */
  current: boolean;
  /** records of `config` were read since, or nothing was decided yet: the decision may change */
  changed: boolean;
}

/** Limits what is held of one kind, so that it leaves room for the others. */
export interface HeldLimit<T> {
  kindOf(item: T): string;
  /** in the unit of `most` */
  sizeOf(item: T): number;
  /** of one kind */
  most: number;
}

/** for the first decision of an item, before it is held */
export const AT_FIRST: Knowledge = { current: false, changed: true };

export class DecisionGate<T> {
  #held: HeldItem<T>[] = [];
  /** total size of what is held, by kind */
  readonly #sizes = new Map<string, number>();
  #changes: number;

  /** @param decide decides a held item again; returns whether it is decided and can be released */
  constructor(
    private readonly config: GateConfig,
    private readonly decide: (item: T, knowledge: Knowledge) => boolean,
    /** called with errors of `decide`; the item stays held */
    private readonly onFatal: (error: unknown) => void,
    private readonly limit?: HeldLimit<T>,
  ) {
    this.#changes = config.changes;
    config.onComplete(() => this.#decideHeld());
  }

  get size(): number {
    return this.#held.length;
  }

  /** time since the oldest held item arrived, ms; 0: none is held */
  get oldestMs(): number {
    const [oldest] = this.#held;
    return oldest ? performance.now() - oldest.sinceMs : 0;
  }

  /**
   * Holds a new item that its owner could not decide.
   * @returns false if too much of its kind is held already
   */
  hold(item: T): boolean {
    this.config.expectSoon();
    if (!this.#count(item, 1)) return false;
    this.#held.push({ item, sinceMs: performance.now() });
    return true;
  }

  /** @returns false if its kind has no room for it */
  #count(item: T, by: 1 | -1): boolean {
    if (!this.limit) return true;
    const kind = this.limit.kindOf(item);
    const size = (this.#sizes.get(kind) ?? 0) + by * this.limit.sizeOf(item);
    if (by > 0 && size > this.limit.most) return false;
    if (size > 0) this.#sizes.set(kind, size);
    else this.#sizes.delete(kind);
    return true;
  }

  /** Releases the items for which `take` returns true. */
  release(take: (item: T) => boolean): void {
    this.#keepUnless(({ item }) => take(item));
  }

  #decideHeld(): void {
    const { completeAt, changes } = this.config;
    const changed = changes !== this.#changes;
    this.#changes = changes;
    if (this.#held.length === 0) return;
    this.#keepUnless(({ item, sinceMs }) =>
      this.decide(item, { current: sinceMs <= completeAt, changed }),
    );
  }

  #guarded(held: HeldItem<T>, take: (held: HeldItem<T>) => boolean): boolean {
    try {
      return take(held);
    } catch (error) {
      this.onFatal(error);
      return false;
    }
  }

  #keepUnless(take: (held: HeldItem<T>) => boolean): void {
    const held = this.#held;
    this.#held = [];
    const kept = held.filter((each) => {
      const isTaken = this.#guarded(each, take);
      if (isTaken) this.#count(each.item, -1);
      return !isTaken;
    });
    // Items added in between are newer.
    this.#held = kept.concat(this.#held);
  }
}

interface HeldItem<T> {
  item: T;
  /** by `performance.now()` */
  sinceMs: number;
}
