/**
 * A Map for what comes and goes all the time, as requests in flight do.
 *
 * V8 gives a Map a new table as its entries change, and lets the old one point to the new. A table that grew old while the
 * process was idle is only taken away by a whole collection; until then it keeps the next table, that one the next, and each
 * of them what it held: everything that has passed through, copied by every collection of young objects (30 to 70 ms once a
 * second in the delivery service, now 5). A Map that is replaced now and then has no such chain.
 */

/**
 * It is copied after so many deletions, and one more for so many entries: often enough that no table grows old where much
 * passes, at the price of eight steps for each entry that does.
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

  /** @returns whether it was in it */
  delete(key: K): boolean {
    const was = this.#map.delete(key);
    if (was && ++this.#deleted >= LEAST_DELETED + this.#map.size / ENTRIES_A_DELETION) this.#renew(this.#map);
    return was;
  }

  clear(): void {
    this.#renew([]);
  }

  keys(): IterableIterator<K> {
    return this.#map.keys();
  }

  /** In the order they came. An entry that is deleted meanwhile may still be met. */
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
