import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open } from 'lmdb';
import { defined } from '../../../shared/collections/defined';

/** The tables of a store and their keys, and the check whether a store on disk can be trusted. */

export type Table = Database<Buffer, Buffer>;

export const NOTHING = Buffer.alloc(0);
export const NUMBER_BYTES = 8;
/** Changes when the content of the tables does. */
const LAYOUT = 3;
/** A suffix that sorts after every key of a prefix. */
const LAST = Buffer.alloc(NUMBER_BYTES, 0xff);

export const BOOT_FILE = 'boot';
export const DATA_FILE = 'data.mdb';

/** Returns whether the store at a path is complete and was written since the machine started. */
export function isTrusted(path: string, tables: number): boolean {
  try {
    if (readFileSync(join(path, BOOT_FILE), 'utf8') !== madeBy()) return false;
    const env = open({ path, maxDbs: tables, readOnly: true });
    try {
      // Reading beyond a truncated file would crash the process.
      const { lastPageNumber, root } = env.getStats() as {
        lastPageNumber: number;
        root: { pageSize: number };
      };
      return statSync(join(path, DATA_FILE)).size >= (lastPageNumber + 1) * root.pageSize;
    } finally {
      void env.close();
    }
  } catch {
    return false;
  }
}

/** Identifies the layout of a store, and the boot of the machine that it was written in. */
export function madeBy(): string {
  return `${LAYOUT} ${bootId()}`;
}

/** On systems without an id of the boot, identifies this process only. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return `process ${process.pid} ${Date.now()}`;
  }
}

export function numberKey(value: number): Buffer {
  const key = Buffer.alloc(NUMBER_BYTES);
  key.writeBigUInt64BE(BigInt(value));
  return key;
}

export function readNumber(key: Buffer): number {
  return Number(key.readBigUInt64BE());
}

/** What the row of a profile says before its JSON. */
export interface RowHeader {
  /** when a value changes without a new event, ms since 1970; 0: never */
  due: number;
  /** its last place among the touched users */
  touched: number;
  /** no user with this id is present (`absent` of the profile) */
  isAbsent: boolean;
}

export const HEADER_BYTES = 2 * NUMBER_BYTES + 1;
const NO_HEADER: RowHeader = { due: 0, touched: 0, isAbsent: false };

export function readHeader(row: Buffer | undefined): RowHeader {
  if (!row) return NO_HEADER;
  return {
    due: Number(row.readBigUInt64BE()),
    touched: Number(row.readBigUInt64BE(NUMBER_BYTES)),
    isAbsent: row[HEADER_BYTES - 1] === 1,
  };
}

export function encodeRow({ due, touched, isAbsent }: RowHeader, json: Buffer): Buffer {
  return Buffer.concat([numberKey(due), numberKey(touched), Buffer.of(isAbsent ? 1 : 0), json]);
}

/** Returns the first key after `key`. */
export function behind(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.from([0])]);
}

export function keys(
  table: Table,
  range: { start?: Buffer | undefined; end?: Buffer; limit?: number },
): Buffer[] {
  const { start, ...rest } = range;
  return [
    ...table.getKeys({
      ...rest,
      ...defined({ start }),
    }),
  ];
}

/** Returns the rest of each key that has a prefix. */
function withPrefix(
  table: Table,
  prefix: Buffer,
  { after, limit }: { after?: string | undefined; limit: number },
): Buffer[] {
  const start = after === undefined ? prefix : behind(Buffer.concat([prefix, Buffer.from(after)]));
  const found = keys(table, { start, end: Buffer.concat([prefix, LAST]), limit });
  return found.map((key) => key.subarray(prefix.length));
}

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
