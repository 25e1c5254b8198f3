/**
 * The interface of the history to PostgreSQL, on a server (postgres.ts) or embedded (pglite.ts). Whole numbers are
 * returned as numbers, JSON is passed and returned as text, and times are ms since 1970, as in all records of Waypost.
 */

export type Param = string | number | boolean | null;
export type Row = Record<string, unknown>;

export interface Queries {
  query: <T extends Row>(sql: string, params?: readonly Param[]) => Promise<T[]>;
}

export interface Transaction extends Queries {
  /** Adds rows in the text format of COPY, the cheapest way for many rows. */
  copy: (table: string, columns: string, rows: string) => Promise<void>;
}

export interface Database extends Queries {
  /** `embedded`: has no autovacuum */
  readonly kind: 'embedded' | 'server';
  /** Commits everything that `work` does, or nothing if it throws. */
  transaction: <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>;
  /** Why it can no longer be used and must be opened again; undefined while it works. */
  readonly broken: string | undefined;
  close(): Promise<void>;
}
