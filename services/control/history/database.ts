import { AppError } from '../../../shared/runtime/errors';

/**
 * The interface of the history to PostgreSQL, on a server (postgres.ts) or embedded (pglite.ts).
 * Whole numbers are returned as numbers, JSON is passed and returned as text, and times are ms
 * since 1970, as in all records of Waypost.
 */

export type Param = string | number | boolean | null;
export type Row = Record<string, unknown>;

export interface Queries {
  /** `embedded`: has no autovacuum */
  readonly kind: 'embedded' | 'server';
  query: <T extends Row>(sql: string, params?: readonly Param[]) => Promise<T[]>;
}

export interface Transaction extends Queries {
  /** Adds rows in the text format of COPY, the cheapest way for many rows. */
  copy: (table: string, columns: string, rows: string) => Promise<void>;
}

export interface Database extends Queries {
  /** Commits everything that `work` does, or nothing if it throws. */
  transaction: <T>(work: (transaction: Transaction) => Promise<T>) => Promise<T>;
  /** Why it can no longer be used and must be opened again; undefined while it works. */
  readonly broken: string | undefined;
  close(): Promise<void>;
}

/** SQL, within a transaction: work on many rows may take longer than the timeout of queries. */
export const UNHURRIED = 'set local statement_timeout = 0';

/**
 * SQL, within a transaction: a statement waits for a lock for a second at most. While it waits for
 * one that excludes readers, every later reader waits behind it.
 */
export const WAIT_BRIEFLY = `set local lock_timeout = '1s'`;
/** SQL: ends `WAIT_BRIEFLY` within its transaction. */
export const WAIT_AS_USUAL = 'set local lock_timeout to default';

export interface Asking {
  /** @throws Problem `unavailable` while the database cannot be used */
  ask<T>(work: (database: Database) => Promise<T>): Promise<T>;
}

/**
 * Classifies an error of the history's database: pure.
 *
 * - `data`: a row that was written cannot be stored. The same write fails again.
 * - `away`: the database does not answer, or has no resources. The same write succeeds later.
 * - `other`: unknown. It may pass (a deadlock, a partition that is missing), or one row may cause
 *   it.
 */
export type DatabaseFault = 'data' | 'away' | 'other';

/**
 * SQLSTATE classes: data exceptions, violated constraints, and limits of the server (a too large
 * index row).
 */
const DATA = /^(22|23|54)/;
/**
 * No partition takes the row. This passes: another control process ended the partition, and the
 * list is read again.
 */
const NO_PARTITION = '23514';
/**
 * SQLSTATE classes: connection, resources, operator intervention, I/O. An empty code: the database
 * did not answer.
 */
const AWAY = /^(08|53|57|58|$)/;
/** The statement timeout: a smaller batch may be fast enough. */
const CANCELED = '57014';
const DEADLOCK = '40P01';
const LOCK_NOT_AVAILABLE = '55P03';

export function faultOf(
  error: unknown,
  database: Pick<Database, 'broken'> | undefined,
): DatabaseFault {
  // Errors of our own code, caused by the shape of an event.
  if (error instanceof TypeError || error instanceof RangeError) return 'other';
  const state = sqlState(error);
  if (database?.broken !== undefined) return 'away';
  if (DATA.test(state)) return state === NO_PARTITION ? 'other' : 'data';
  return AWAY.test(state) && state !== CANCELED ? 'away' : 'other';
}

/** Returns whether a statement was ended because it waited for others, which says nothing of it. */
export function waitedForLock(error: unknown): boolean {
  return [DEADLOCK, LOCK_NOT_AVAILABLE].includes(sqlState(error));
}

/** Returns whether a statement took too long, perhaps because others held it up. */
export function wasCanceled(error: unknown): boolean {
  return sqlState(error) === CANCELED;
}

/**
 * Returns whether the database failed to answer. The API then refuses the query as `unavailable`.
 */
export function isAway(error: unknown, database: Pick<Database, 'broken'>): boolean {
  // Errors of our own code.
  if (error instanceof AppError || error instanceof TypeError || error instanceof RangeError) {
    return false;
  }
  return database.broken !== undefined || /^(08|53|57|58|XX|$)/.test(sqlState(error));
}

function sqlState(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
}

/**
 * Serializes JSON for PostgreSQL. Its texts cannot contain U+0000 or half a surrogate pair, but a
 * user id or a response may. Both become U+FFFD.
 */
export function databaseJson(value: unknown): string {
  const text = JSON.stringify(value);
  // JSON always escapes NUL. After an odd number of backslashes, `\u` would be text and not an
  // escape.
  return text.replace(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '$1\\ufffd');
}
