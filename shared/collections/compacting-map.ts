/**
 * A Map for short-lived entries, such as requests in flight.
 *
 * V8 gives a Map a new table as its entries change, and the old table points to the new one. A
 * table that became old while the process was idle is freed only by a full collection. Until then
 * it keeps the next table alive, that one the next, and each of them its entries: everything that
 * has passed through, copied by every collection of young objects (30 to 70 ms once a second in the
 * delivery service, now 5). A Map that is replaced regularly has no such chain. The test of this
 * class shows V8's behaviour: once V8 no longer has it, a Map will do again.
 *
 * Lists have the same chain if a removed node still points to the next one.
 */

/**
 * The Map is copied after LEAST_DELETED deletions, and one more for each ENTRIES_A_DELETION
 * entries: often enough that under load no table becomes old, at a cost of eight steps for each
 * entry that passes.
 */
const LEAST_DELETED = 8;
const ENTRIES_A_DELETION = 8;

export class CompactingMap<K, V> {
  #map = new Map<K, V>();
  #deleted = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): this {
    this.#map.set(key, value);
    return this;
  }

  /** @returns whether the key was present */
  delete(key: K): boolean {
    const was = this.#map.delete(key);
    if (was && ++this.#deleted >= LEAST_DELETED + this.#map.size / ENTRIES_A_DELETION) {
      this.#renew(this.#map);
    }
    return was;
  }

  clear(): void {
    this.#renew([]);
  }

  keys(): IterableIterator<K> {
    return this.#map.keys();
  }

  /**
   * Iterates in insertion order. It may still yield an entry that is deleted during the iteration.
   */
  values(): IterableIterator<V> {
    return this.#map.values();
  }

  forEach(each: (value: V, key: K) => void): void {
    this.#map.forEach(each);
  }

  #renew(entries: Iterable<readonly [K, V]>): void {
    this.#deleted = 0;
    this.#map = new Map(entries);
  }
}
