import { type Queries } from '../../../services/control/history/database';
import { readParts } from '../../../services/control/history/record-events';
import { ALL } from '../../../services/control/history/stored-counts';

/** Reads how much space the history takes, and from when on it has rows and counts. */

/** What `WAYPOST_HISTORY_MAX_MB` limits. */
export interface Size {
  rowBytes: number;
  indexBytes: number;
  /** of all */
  bytes: number;
  /** of the partitions */
  names: string[];
}

export async function readSize(queries: Queries): Promise<Size> {
  const [sizes] = await queries.query<{ rows: number; indexes: number }>(
    `select sum(pg_table_size(relid))::bigint as rows,
       sum(pg_indexes_size(relid))::bigint as indexes
     from pg_stat_user_tables
     where schemaname = 'waypost' and relname ~ '^((deliveries|responses)_|counts$)'`,
  );
  const { rows = 0, indexes = 0 } = sizes ?? {};
  return {
    rowBytes: rows,
    indexBytes: indexes,
    bytes: rows + indexes,
    names: (await readParts(queries)).map(({ name }) => name),
  };
}

/** Times from which on something is kept, ms since 1970; null: there is nothing. */
export interface Kept {
  rows: number | null;
  minutes: number | null;
  hours: number | null;
}

export async function readKept({ query }: Queries): Promise<Kept> {
  const [rows] = await query<{ at: number | null }>(
    'select min(accepted_at) as at from waypost.deliveries',
  );
  const [counts] = await query<{ minutes: number | null; hours: number | null }>(
    `select min(minute) filter (where minutes = 1) as minutes,
       min(minute) filter (where minutes = 60) as hours
     from waypost.counts where destination = '${ALL}'`,
  );
  return {
    rows: rows?.at ?? null,
    minutes: counts?.minutes ?? null,
    hours: counts?.hours ?? null,
  };
}
