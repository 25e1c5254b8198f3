/**
 * A list whose entries hold their own links: adding and removing takes constant time and allocates
 * nothing. It suits short-lived entries, such as requests in flight, for which a Map would grow and
 * copy its table again and again (compacting-map.ts).
 */

/** An entry. It is in one list at a time, which alone changes these fields. */
export interface Link<T> {
  before?: T | undefined;
  after?: T | undefined;
  list?: object | undefined;
}

export class LinkedList<T extends Link<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): T | undefined {
    return this.#first;
  }

  get last(): T | undefined {
    return this.#last;
  }

  has(entry: T): boolean {
    return entry.list === this;
  }

  /** Adds an entry at the end. It must be in no list. */
  push(entry: T): void {
    const last = this.#last;
    entry.list = this;
    entry.before = last;
    entry.after = undefined;
    if (last) last.after = entry;
    else this.#first = entry;
    this.#last = entry;
    this.#size++;
  }

  /** Adds an entry at the beginning. It must be in no list. */
  unshift(entry: T): void {
    const first = this.#first;
    entry.list = this;
    entry.before = undefined;
    entry.after = first;
    if (first) first.before = entry;
    else this.#last = entry;
    this.#first = entry;
    this.#size++;
  }

  /** @returns whether the entry was in this list */
  delete(entry: T): boolean {
    if (entry.list !== this) return false;
    const { before, after } = entry;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
    // Unlink: a removed entry must not keep its neighbours in memory.
    entry.before = entry.after = entry.list = undefined;
    this.#size--;
    return true;
  }

  /** Returns the entries in their order, in an array of their own. */
  entries(): T[] {
    const all: T[] = [];
    for (let entry = this.#first; entry; entry = entry.after) all.push(entry);
    return all;
  }
}
