import { type ConfigRecord, type Destination, MAX_ENTRIES, type Source } from '../model/config';
import { type Entry } from './types';
import { writeKeyHash } from './encryption';

/**
 * Answers the questions of every message without a search: which source a write key opens, and
 * which destinations are connected to a source.
 */

/** A source, and how long the given write key opens it. */
interface Opened {
  entry: Entry<Source>;
  /** ms since 1970 */
  until: number | undefined;
}

const NONE: readonly Entry<Destination>[] = [];

export class ConfigIndex {
  /** by `WriteKey.key` */
  readonly #byKey = new Map<string, Opened>();
  /**
   * only of keys that opened a source; each key has a single text, so strangers cannot fill the map
   */
  readonly #hashes = new Map<string, string>();
  readonly #destinationsBySource = new Map<string, Map<string, Entry<Destination>>>();
  /**
   * Built on demand: at start, thousands of destinations of one source are read without rebuilding
   * the list for each.
   */
  readonly #lists = new Map<string, readonly Entry<Destination>[]>();

  /** Replaces an entry's record with another, which is a deletion if it has no `data`. */
  replace(before: ConfigRecord | undefined, after: ConfigRecord): void {
    if (before?.data) this.#forget(before);
    const { version, data } = after;
    if (!data) return;
    if (after.kind === 'source') {
      const entry = { version, data: data as Source };
      for (const { key, until } of entry.data.writeKeys) this.#byKey.set(key, { entry, until });
    } else if (after.kind === 'destination') {
      const entry = { version, data: data as Destination };
      for (const source of entry.data.sources) this.#connected(source).set(after.id, entry);
    }
  }

  /** @param writeKey as a client sends it; the stored hash of a key opens nothing */
  openedBy(writeKey: string): Opened | undefined {
    const known = this.#hashes.get(writeKey);
    const hash = known ?? writeKeyHash(writeKey);
    const found = this.#byKey.get(hash);
    if (found && known === undefined) {
      if (this.#hashes.size >= MAX_ENTRIES) this.#hashes.clear();
      this.#hashes.set(writeKey, hash);
    }
    return found;
  }

  destinationsOf(sourceId: string): readonly Entry<Destination>[] {
    let list = this.#lists.get(sourceId);
    if (!list) {
      const connected = this.#destinationsBySource.get(sourceId);
      // Unknown ids are not cached: they come from outside.
      if (!connected) return NONE;
      list = [...connected.values()];
      this.#lists.set(sourceId, list);
    }
    return list;
  }

  #forget(record: ConfigRecord): void {
    if (record.kind === 'source') {
      for (const { key } of (record.data as Source).writeKeys) {
        if (this.#byKey.get(key)?.entry.data.id === record.id) this.#byKey.delete(key);
      }
    } else if (record.kind === 'destination') {
      for (const source of (record.data as Destination).sources) {
        const connected = this.#connected(source);
        connected.delete(record.id);
        if (connected.size === 0) this.#destinationsBySource.delete(source);
      }
    }
  }

  #connected(sourceId: string): Map<string, Entry<Destination>> {
    this.#lists.delete(sourceId);
    const connected =
      this.#destinationsBySource.get(sourceId) ?? new Map<string, Entry<Destination>>();
    this.#destinationsBySource.set(sourceId, connected);
    return connected;
  }
}
