import { MOST_COUNTED } from '../../../shared/api/operation';
import { type Param, type Queries, type Row } from './database';

/**
 * Lists and counts the rows that fit among the newest ones which an index finds, so that a request
 * costs the same however many rows do not fit.
 */

/** A page looks at as many rows as are counted; the next one goes on behind them. */
export const MOST_LOOKED = MOST_COUNTED;

export interface NewestQuery {
  /**
   * queries that an index answers in the order of the list; each row that fits is a row of one of
   * them
   */
  newest: readonly string[];
  /** an SQL condition of each of their rows */
  fits: string;
  /** of the list: the newest first */
  order: string;
  params: readonly Param[];
}

export interface NewestPage<T, StoppedAt = Cursor> {
  rows: T[];
  /** the last row that was looked at; undefined: nothing is left, or `rows` is the whole page */
  stoppedAt: StoppedAt | undefined;
}

/** The last row of a page: its time, and its id. */
export interface Cursor {
  /** ms since 1970, or another whole number that orders the list */
  at: number;
  id: string;
}

/** SQL: the newest rows of all queries, few more than `most`. */
function newestOf({ newest, order }: NewestQuery, most: number): string {
  const each = newest.map((query) => `(${query} order by ${order} limit ${most})`);
  return each.join(' union all ');
}

export async function listNewest<T extends Row>(
  { query }: Queries,
  asked: NewestQuery,
  limit: number,
): Promise<NewestPage<T, T>> {
  const { fits, order, params } = asked;
  const rows = await query<T & { fits: boolean | null; nth: number }>(
    `select * from (
       select newest.*, ${fits} as fits, row_number() over (order by ${order}) as nth
       from (${newestOf(asked, MOST_LOOKED)}) as newest
     ) as looked
     where nth <= ${MOST_LOOKED} and (fits or nth = ${MOST_LOOKED})
     order by ${order} limit ${limit}`,
    params,
  );
  const last = rows.at(-1);
  return {
    rows: rows.filter((row) => row.fits).map(ownColumns),
    stoppedAt: last?.nth === MOST_LOOKED ? ownColumns(last) : undefined,
  };
}

/** Leaves out the columns that only a page has. */
function ownColumns<T extends Row>({ fits: _, nth: __, ...row }: T & Row): T {
  return row as unknown as T;
}

/** Counts the rows that fit, as far as they are looked at. */
export async function countNewest(
  { query }: Queries,
  asked: NewestQuery,
): Promise<{ count: number; exact: boolean }> {
  const { fits, order, params } = asked;
  const [row] = await query<{ looked: number; found: number }>(
    `select count(*)::bigint as looked, count(*) filter (where ${fits})::bigint as found
     from (select * from (${newestOf(asked, MOST_LOOKED + 1)}) as newest
       order by ${order} limit ${MOST_LOOKED + 1}) as newest`,
    params,
  );
  const { looked, found } = row ?? { looked: 0, found: 0 };
  return { count: Math.min(found, MOST_COUNTED), exact: looked <= MOST_LOOKED };
}
