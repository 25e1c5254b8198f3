import { keys, LAST, NOTHING, type Table, withPrefix } from './store-lmdb';

/** The members of all definitions in one table of the store, with their counts. */
export class Members {
  /** number of members of each definition */
  readonly #counts = new Map<string, number>();

  constructor(private readonly table: Table) {}

  /** Returns members in order of their ids. */
  list(definition: string, after: string | undefined, limit: number): string[] {
    return withPrefix(this.table, prefixOf(definition), { after, limit }).map(String);
  }

  count(definition: string): number {
    let count = this.#counts.get(definition);
    if (count === undefined) {
      const prefix = prefixOf(definition);
      count = this.table.getKeysCount({ start: prefix, end: Buffer.concat([prefix, LAST]) });
      this.#counts.set(definition, count);
    }
    return count;
  }

  /** @param value `false` and `null` mean that the user is not a member */
  set(definition: string, user: string, value: unknown): void {
    const count = this.count(definition);
    const key = Buffer.from(`${definition}\0${user}`);
    const [was, is] = [this.table.doesExist(key), value !== false && value !== null];
    if (was === is) return;
    if (is) this.table.putSync(key, NOTHING);
    else this.table.removeSync(key);
    this.#counts.set(definition, count + (is ? 1 : -1));
  }

  drop(definition: string): void {
    const prefix = prefixOf(definition);
    for (const key of keys(this.table, { start: prefix, end: Buffer.concat([prefix, LAST]) })) {
      this.table.removeSync(key);
    }
    this.#counts.delete(definition);
  }

  /** Clears the cached counts. */
  forgetCounts(): void {
    this.#counts.clear();
  }
}

function prefixOf(definition: string): Buffer {
  return Buffer.from(`${definition}\0`);
}
