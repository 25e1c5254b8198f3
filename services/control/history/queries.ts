import { COLUMNS, fromColumns } from './row-codec';
import { type Database, type Param } from './database';
import { type DeliveryStatus } from '../../../shared/model/reasons';
import { type DeliveryRow, storedIds } from './delivery-row';

/** Queries of the API. Each filter has an index in the order of the list; see schema.ts. */

export interface Filter {
  destination?: string | undefined;
  source?: string | undefined;
  status?: DeliveryStatus | undefined;
  message?: string | undefined;
  user?: string | undefined;
  type?: string | undefined;
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
  const equal = { destination: filter.destination, source: filter.source, status: filter.status, type: filter.type };
  const where = Object.entries({ ...equal, message: filter.message }).flatMap(([column, value]) =>
    value === undefined ? [] : [`${column} = ${param(value)}`],
  );
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

/** Returns the number of open deliveries, by destination and status. */
export function openDeliveries(database: Database): Promise<{ destination: string; status: string; count: number }[]> {
  return database.query(
    `select destination, status, count(*)::bigint as count from waypost.deliveries
     where status in ('waiting', 'retrying') and not test group by destination, status`,
  );
}

export interface CircuitRow {
  destination: string;
  url: string;
  origin: string;
  state: 'open' | 'closed';
  why: string;
  at: number;
}

export function openCircuits(database: Database): Promise<CircuitRow[]> {
  return database.query<CircuitRow & Record<string, unknown>>(
    `select destination, url, origin, state, why, at from waypost.circuits where state = 'open'`,
  );
}
