import { COLUMNS, fromColumns } from './row-codec';
import { databaseJson, type Database, type Param, type Queries } from './database';
import { type DeliveryStatus, OPEN_STATUSES, statusesOf } from '../../../shared/model/reasons';
import { type DeliveryRow, storedIds } from './delivery-row';

/** Queries of the API. Each filter has an index in the order of the list; see schema.ts. */

export interface Filter {
  destination?: string | undefined;
  source?: string | undefined;
  status?: DeliveryStatus | undefined;
  message?: string | undefined;
  user?: string | undefined;
  type?: string | undefined;
  event?: string | undefined;
  /** status of the last response, from the first to the last of these */
  code?: { from: number; to: number } | undefined;
  /** code of the last attempt's error */
  error?: string | undefined;
  /** of deliveries */
  ids?: readonly string[] | undefined;
  /** accepted at this time or later, ms since 1970 */
  since?: number | undefined;
  /** accepted before this time, ms since 1970 */
  until?: number | undefined;
}

/** The last row of the previous page. */
export interface Cursor {
  acceptedAt: number;
  id: string;
}

/** Lists the newest first, and by id within a millisecond. */
export async function listDeliveries(
  database: Database,
  filter: Filter,
  page: { limit: number; after?: Cursor | undefined },
): Promise<DeliveryRow[]> {
  const params: Param[] = [];
  // A text of PostgreSQL cannot contain NUL: row-codec.ts stored U+FFFD instead.
  const param = (value: Param) =>
    `$${params.push(typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)}`;
  const { destination, source, type, message, event, error: last_error } = filter;
  const where = Object.entries({ destination, source, type, message, event, last_error }).flatMap(([column, value]) =>
    value === undefined ? [] : [`${column} = ${param(value)}`],
  );
  if (filter.status !== undefined) where.push(`status in (${statusesOf(filter.status).map(param).join(', ')})`);
  if (filter.code) {
    where.push(`last_status between ${param(filter.code.from)}::int and ${param(filter.code.to)}::int`);
    // The index contains failures only.
    if (filter.code.from >= 300) where.push('last_status >= 300');
  }
  if (filter.ids) where.push(`id in (select jsonb_array_elements_text(${param(databaseJson(filter.ids))}::jsonb))`);
  if (filter.user !== undefined) where.push(`user_id in (${storedIds(filter.user).map(param).join(', ')})`);
  if (filter.since !== undefined) where.push(`accepted_at >= ${param(filter.since)}::bigint`);
  if (filter.until !== undefined) where.push(`accepted_at < ${param(filter.until)}::bigint`);
  if (page.after) {
    const [at, id] = [`${param(page.after.acceptedAt)}::bigint`, param(page.after.id)];
    // An index by time can use the first condition only.
    where.push(`accepted_at <= ${at}`, `(accepted_at, id) < (${at}, ${id})`);
  }
  const rows = await database.query(
    `select ${COLUMNS} from waypost.deliveries ${where.length > 0 ? `where ${where.join(' and ')}` : ''}
     order by accepted_at desc, id desc limit ${param(page.limit)}::int`,
    params,
  );
  return rows.map(fromColumns);
}

export async function getDelivery(database: Database, id: string): Promise<DeliveryRow | undefined> {
  const [row] = await database.query(`select ${COLUMNS} from waypost.deliveries where id = $1`, [id]);
  return row && fromColumns(row);
}

export interface DestinationCount {
  destination: string;
  what: string;
  count: number;
}

/** Returns the counts since a time, by destination. */
export function countsSince(database: Database, sinceMs: number): Promise<DestinationCount[]> {
  return database.query<DestinationCount & Record<string, unknown>>(
    `select destination, what, sum(count)::bigint as count from waypost.counts
     where minute >= $1::bigint group by destination, what`,
    [sinceMs],
  );
}

export interface SeriesCount {
  at: number;
  what: string;
  count: number;
}

/** Returns the counts in steps of time, of one destination or of all. */
export function countsInSteps(
  database: Database,
  { sinceMs, stepMs, destination }: { sinceMs: number; stepMs: number; destination: string | undefined },
): Promise<SeriesCount[]> {
  return database.query<SeriesCount & Record<string, unknown>>(
    `select (minute / $2::bigint) * $2::bigint as at, what, sum(count)::bigint as count
     from waypost.counts where minute >= $1::bigint and ($3::text is null or destination = $3)
group by 1, 2 order by 1`,
    [sinceMs, stepMs, destination ?? null],
  );
}

const IS_OPEN = `status in (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}) and not test`;

/** Returns the number of open deliveries, by destination and status. */
export function openDeliveries(database: Database): Promise<{ destination: string; status: string; count: number }[]> {
  return database.query(
    `select destination, status, count(*)::bigint as count from waypost.deliveries
     where ${IS_OPEN} group by destination, status`,
  );
}

/** Returns the open deliveries of one destination: their number, and when the oldest was accepted. */
export async function openOf(
  { query }: Database,
  destination: string,
): Promise<{ count: number; oldestAt: number | null }> {
  const [row] = await query<{ count: number; oldest: number | null }>(
    `select count(*)::bigint as count, min(accepted_at) as oldest from waypost.deliveries
     where destination = $1 and ${IS_OPEN}`,
    [destination],
  );
  return { count: row?.count ?? 0, oldestAt: row?.oldest ?? null };
}

/** Counts the deliveries of one destination that were given up since a time, and not replayed since. */
export async function countDead({ query }: Queries, destination: string, sinceMs: number): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select count(*)::bigint as count from waypost.deliveries
     where destination = $1 and status = 'dead' and not test and settled_at >= $2::bigint`,
    [destination, sinceMs],
  );
  return row?.count ?? 0;
}

/** A URL may fail this long after another one has settled the delivery. */
const LATE_MS = 60_000;

/** Counts the deliveries of one destination that some URL lacks, settled since a time or shortly before. */
export async function countPartly({ query }: Queries, destination: string, sinceMs: number): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select count(*)::bigint as count from waypost.deliveries
     where destination = $1 and status = 'partly_delivered' and not test and settled_at >= $2::bigint`,
    [destination, sinceMs - LATE_MS],
  );
  return row?.count ?? 0;
}

/** Returns the last minute in which a destination had an attempt; null: none is known. */
export async function lastAttemptMinute({ query }: Database, destination: string): Promise<number | null> {
  const [row] = await query<{ last: number | null }>(
    `select max(minute) as last from waypost.counts where destination = $1 and what = 'attempts'`,
    [destination],
  );
  return row?.last ?? null;
}
