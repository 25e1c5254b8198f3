import { type ConfigRecord, type Destination, type Source } from '../domain/config';
import { type Entry } from './view';

/**
 * The two questions that are asked for each message: which source does a write key open, and which destinations are
 * connected to a source. Both are answered without a search.
 */
export class AccessIndex {
  readonly #sourceByKey = new Map<string, Entry<Source>>();
  readonly #destinationsBySource = new Map<string, Map<string, Entry<Destination>>>();
  /** Made when asked for: thousands of destinations of one source are read at start without as many copies. */
  readonly #lists = new Map<string, readonly Entry<Destination>[]>();

  /** One entry's record takes the place of another; without `data` it is a deletion. */
  replace(before: ConfigRecord | undefined, after: ConfigRecord): void {
    if (before?.data) this.#forget(before);
    const { version, data } = after;
    if (!data) return;
    if (after.kind === 'source') {
      const entry = { version, data: data as Source };
      for (const { key } of entry.data.writeKeys) this.#sourceByKey.set(key, entry);
    } else if (after.kind === 'destination') {
      const entry = { version, data: data as Destination };
      for (const source of entry.data.sources) this.#connected(source).set(after.id, entry);
    }
  }

  sourceOf(writeKey: string): Entry<Source> | undefined {
    return this.#sourceByKey.get(writeKey);
  }

  destinationsOf(sourceId: string): readonly Entry<Destination>[] {
    let list = this.#lists.get(sourceId);
    if (!list) {
      const connected = this.#destinationsBySource.get(sourceId);
      // Ids that do not exist are not remembered: they come from outside.
      if (!connected) return [];
      list = [...connected.values()];
      this.#lists.set(sourceId, list);
    }
    return list;
  }

  #forget(record: ConfigRecord): void {
    if (record.kind === 'source') {
      for (const { key } of (record.data as Source).writeKeys) {
        if (this.#sourceByKey.get(key)?.data.id === record.id) this.#sourceByKey.delete(key);
      }
    } else if (record.kind === 'destination') {
      for (const source of (record.data as Destination).sources) this.#connected(source).delete(record.id);
    }
  }

  #connected(sourceId: string): Map<string, Entry<Destination>> {
    this.#lists.delete(sourceId);
    const connected = this.#destinationsBySource.get(sourceId) ?? new Map<string, Entry<Destination>>();
    this.#destinationsBySource.set(sourceId, connected);
    return connected;
  }
}
