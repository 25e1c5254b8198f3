import { type Total } from '../../../shared/api/fields';
import { MOST_COUNTED } from '../../../shared/api/operation';
import { type Param, type Queries } from './database';

/** Counts the rows of a query, up to a limit. @param rows the query, without a limit */
export async function countUpTo(
  { query }: Queries,
  rows: string,
  params: readonly Param[],
): Promise<Total> {
  const [row] = await query<{ count: number }>(
    `select count(*)::bigint as count from (${rows} limit ${MOST_COUNTED + 1}) as found`,
    params,
  );
  const count = row?.count ?? 0;
  return { count: Math.min(count, MOST_COUNTED), exact: count <= MOST_COUNTED };
}
