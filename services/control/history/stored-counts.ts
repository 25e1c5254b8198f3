import { databaseJson, type Database, type Queries } from './database';
import { type MinuteCount } from './minute-counts';

/**
 * Stores the counts of deliveries: by minute for the last day, and by hour before it. The row of an
 * hour is the one of its first minute, so a count of a past minute needs no other table, and sums
 * are right while minutes become hours.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Of the history's space. */
const SHARE = 1 / 4;
/** A row with its index. */
const ROW_BYTES = 181;
/** Hours that one maintenance folds, so that others wait for a moment only. */
const MOST_HOURS = 48;
/** Otherwise the rows that are folded and those that are written could be locked in two orders. */
const ONE_WRITER = 'lock table waypost.counts in share row exclusive mode';

/** @param counts in the order in which all processes lock their rows */
export async function addCounts({ query }: Queries, counts: readonly MinuteCount[]): Promise<void> {
  if (counts.length === 0) return;
  await query(
    `insert into waypost.counts (minute, destination, what, count)
     select minute, destination, what, count
     from jsonb_to_recordset($1::jsonb) as given(minute bigint, destination text, what text, count bigint)
     on conflict (minute, destination, what) do update set count = waypost.counts.count + excluded.count`,
    [databaseJson(counts)],
  );
}

/** Returns the most space that the counts take, of the space of the history. */
export function bytesForCounts(maxBytes: number): number {
  return maxBytes * SHARE;
}

export async function bytesOfCounts({ query }: Queries): Promise<number> {
  const [row] = await query<{ bytes: number }>(
    `select pg_total_relation_size('waypost.counts'::regclass) as bytes`,
  );
  return row?.bytes ?? 0;
}

/** Folds the minutes before the last day into hours, and drops what is too old or too much. */
export async function keepCounts(
  database: Database,
  { sinceMs, maxBytes }: { sinceMs: number; maxBytes: number },
  nowMs: number,
): Promise<void> {
  const untilMs = Math.floor((nowMs - DAY_MS) / HOUR_MS) * HOUR_MS;
  for (let hours = 0; hours < MOST_HOURS; hours++) {
    if (!(await foldOldest(database, untilMs))) break;
  }
  const most = Math.floor(bytesForCounts(maxBytes) / ROW_BYTES);
  await database.transaction(async ({ query }) => {
    await query(ONE_WRITER);
    await query(
      `delete from waypost.counts where minute < greatest($1::bigint,
         coalesce((select minute + 1 from waypost.counts order by minute desc offset $2::bigint limit 1), 0))`,
      [sinceMs, most],
    );
  });
}

/** @returns false if there is none before this time */
async function foldOldest(database: Database, untilMs: number): Promise<boolean> {
  const [oldest] = await database.query<{ minute: number | null }>(
    `select min(minute) as minute from waypost.counts where minute < $1::bigint and minute % ${HOUR_MS} <> 0`,
    [untilMs],
  );
  if (oldest?.minute == null) return false;
  const hour = Math.floor(oldest.minute / HOUR_MS) * HOUR_MS;
  await database.transaction(async ({ query }) => {
    await query(ONE_WRITER);
    await query(
      `with minutes as (
         delete from waypost.counts where minute > $1::bigint and minute < $1::bigint + ${HOUR_MS} returning *
       )
       insert into waypost.counts (minute, destination, what, count)
       select $1::bigint, destination, what, sum(count)::bigint from minutes group by destination, what
       on conflict (minute, destination, what) do update set count = waypost.counts.count + excluded.count`,
      [hour],
    );
  });
  return true;
}
