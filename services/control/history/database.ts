/**
 * What the history wants of a database: PostgreSQL's SQL, on a server (postgres.ts) or embedded (pglite.ts). Whole
 * numbers come as numbers, JSON goes in and comes out as text; times are ms since 1970, as everywhere in Waypost's records.
 */

export type Param = string | number | boolean | null;
export type Row = Record<string, unknown>;

export interface Queries {
  query: <T extends Row>(sql: string, params?: readonly Param[]) => Promise<T[]>;
}

export interface Transaction extends Queries {
  /** Adds rows, given in the text format of COPY: what costs least where there are many. */
  copy: (table: string, columns: string, rows: string) => Promise<void>;
}

export interface Database extends Queries {
  /** `embedded`: nobody else cleans it up */
  readonly kind: 'embedded' | 'server';
  /** Everything that `work` does, or nothing where it throws. */
  transaction: <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>;
  /** Why it can no longer be used; then it must be opened anew. */
  readonly broken: string | undefined;
  close(): Promise<void>;
}
