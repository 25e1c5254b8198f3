/**
 * A map that forgets what was not set for long, so that it does not grow with all keys ever seen.
 * It drops old entries when one is set, and needs no timer. Pure.
 */
export class RecentMap<K, V> {
  /** the one that was set longest ago first */
  readonly #entries = new Map<K, { value: V; setAt: number }>();

  /** @param keepMs time for which an entry is kept at least */
  constructor(private readonly keepMs: number) {}

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** @param nowMs by a clock that never goes back */
  set(key: K, value: V, nowMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, setAt: nowMs });
    for (const [oldest, { setAt }] of this.#entries) {
      if (nowMs - setAt <= this.keepMs) return;
      this.#entries.delete(oldest);
    }
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}
