import { COLUMNS, fromColumns } from './row-codec';
import { databaseJson, type Database, type Param, type Queries } from './database';
import { MOST_COUNTED } from '../../../shared/api/operation';
import { type DeliveryStatus, OPEN_STATUSES, statusesOf } from '../../../shared/model/reasons';
import { type DeliveryRow, storedIds } from './delivery-row';

/** Queries of the API. Each filter has an index in the order of the list; see table-partitions.ts. */

export interface Filter {
  destination?: string | undefined;
  source?: string | undefined;
  status?: DeliveryStatus | undefined;
  message?: string | undefined;
  user?: string | undefined;
  type?: string | undefined;
  event?: string | undefined;
  /** id of a batch that they were sent in */
  batch?: string | undefined;
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
  /** ended at this time or later, ms since 1970; with this time or the next one, only dead deliveries are found */
  endedSince?: number | undefined;
  /** ended before this time, ms since 1970 */
  endedUntil?: number | undefined;
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
  const { params, param } = parameters();
  const where = [...conditionsOf(filter, param), ...timesOf(filter, param)];
  if (page.after) {
    const [at, id] = [`${param(page.after.acceptedAt)}::bigint`, param(page.after.id)];
    // An index by time can use the first condition only.
    where.push(`accepted_at <= ${at}`, `(accepted_at, id) < (${at}, ${id})`);
  }
  const rows = await database.query(
    `select ${COLUMNS} from waypost.deliveries ${whereOf(where)}
     order by accepted_at desc, id desc limit ${param(page.limit)}::int`,
    params,
  );
  return rows.map(fromColumns);
}

/**
 * Counts the deliveries that a list finds. The conditions of one index choose the newest deliveries, few more than the
 * most that is counted, and the others are checked on these only: the costs do not grow with the history.
 */
export async function countDeliveries({ query }: Database, filter: Filter): Promise<{ count: number; exact: boolean }> {
  const { params, param } = parameters();
  const conditions = conditionsOf(filter, param);
  const indexed = conditions.slice(0, byOneIndex(filter));
  const others = conditions.slice(indexed.length);
  const where = [...indexed, ...timesOf(filter, param)];
  const [row] = await query<{ looked: number; found: number }>(
    `select count(*)::bigint as looked, count(*) filter (where fits)::bigint as found
     from (select ${others.length > 0 ? others.join(' and ') : 'true'} as fits from waypost.deliveries
       ${whereOf(where)} order by accepted_at desc limit ${MOST_COUNTED + 1}) as newest`,
    params,
  );
  const { looked, found } = row ?? { looked: 0, found: 0 };
  return { count: Math.min(found, MOST_COUNTED), exact: looked <= MOST_COUNTED };
}

type Parameter = (value: Param) => string;

function parameters(): { params: Param[]; param: Parameter } {
  const params: Param[] = [];
  // A text of PostgreSQL cannot contain NUL: row-codec.ts stored U+FFFD instead.
  const param = (value: Param) =>
    `$${params.push(typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : value)}`;
  return { params, param };
}

function whereOf(conditions: readonly string[]): string {
  return conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
}

/** Returns the conditions of a filter, except those for times. The first one finds the fewest deliveries. */
function conditionsOf(filter: Filter, param: Parameter): string[] {
  const { destination, source, type, message, event, error: last_error, ids, user, code, status, batch } = filter;
  const equal = (columns: Record<string, string | undefined>) =>
    Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [`${column} = ${param(value)}`]));
  const oneOf = (column: string, values: readonly string[]) => `${column} in (${values.map(param).join(', ')})`;
  return [
    ...(ids ? [`id in (select jsonb_array_elements_text(${param(databaseJson(ids))}::jsonb))`] : []),
    ...equal({ message }),
    ...(batch === undefined ? [] : [`batches @> array[${param(batch)}::text]`]),
    ...(user === undefined ? [] : [oneOf('user_id', storedIds(user))]),
    ...equal({ last_error }),
    ...(code ? [codeCondition(code, param)] : []),
    ...equal({ event }),
    ...(status === undefined ? [] : [oneOf('status', statusesOf(status))]),
    ...equal({ destination, source, type }),
  ];
}

/** Returns how many of the first conditions one index finds together: a status with a destination has its own. */
function byOneIndex({ destination, status, ids, message, batch, user, error, code, event }: Filter): number {
  const isStatusFirst = [ids, message, batch, user, error, code, event].every((value) => value === undefined);
  return isStatusFirst && status !== undefined && destination !== undefined ? 2 : 1;
}

function codeCondition({ from, to }: { from: number; to: number }, param: Parameter): string {
  const between = `last_status between ${param(from)}::int and ${param(to)}::int`;
  // The index contains failures only.
  return from >= 300 ? `${between} and last_status >= 300` : between;
}

function timesOf({ since, until, endedSince, endedUntil }: Filter, param: Parameter): string[] {
  const times: [condition: string, at: number | undefined][] = [
    ['accepted_at >=', since],
    ['accepted_at <', until],
    // A delivery ends after it was accepted.
    ['accepted_at <', endedUntil],
    ['settled_at >=', endedSince],
    ['settled_at <', endedUntil],
  ];
  const conditions = times.flatMap(([condition, at]) => (at === undefined ? [] : [`${condition} ${param(at)}::bigint`]));
  // The index by the time of the end contains dead deliveries only.
  return endedSince === undefined && endedUntil === undefined ? conditions : [...conditions, `status = 'dead'`];
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

/** Returns the counts of a span, by destination. */
export function countsBetween(database: Database, { sinceMs, untilMs }: CountedSpan): Promise<DestinationCount[]> {
  return database.query<DestinationCount & Record<string, unknown>>(
    `select destination, what, sum(count)::bigint as count from waypost.counts
     where minute >= $1::bigint and minute < $2::bigint group by destination, what`,
    [sinceMs, untilMs],
  );
}

/** Times are ms since 1970; `untilMs` is exclusive. */
export interface CountedSpan {
  sinceMs: number;
  untilMs: number;
}

export interface SeriesCount {
  at: number;
  what: string;
  count: number;
}

/** Returns the counts in steps of time, of one destination or of all. */
export function countsInSteps(
  database: Database,
  { sinceMs, untilMs, stepMs, destination }: CountedSpan & { stepMs: number; destination: string | undefined },
): Promise<SeriesCount[]> {
  return database.query<SeriesCount & Record<string, unknown>>(
    `select (minute / $2::bigint) * $2::bigint as at, what, sum(count)::bigint as count from waypost.counts
     where minute >= $1::bigint and minute < $4::bigint and ($3::text is null or destination = $3)
     group by 1, 2 order by 1`,
    [sinceMs, stepMs, destination ?? null, untilMs],
  );
}

/** Returns the deliveries and the attempts of each destination in steps of time. */
export function trendsInSteps(
  database: Database,
  { sinceMs, untilMs, stepMs }: CountedSpan & { stepMs: number },
): Promise<(DestinationCount & SeriesCount)[]> {
  return database.query<DestinationCount & SeriesCount & Record<string, unknown>>(
    `select destination, (minute / $3::bigint) * $3::bigint as at, what, sum(count)::bigint as count from waypost.counts
     where minute >= $1::bigint and minute < $2::bigint and what in ('delivered', 'failed') group by 1, 2, 3`,
    [sinceMs, untilMs, stepMs],
  );
}

const IS_OPEN = `status in (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')}) and not test`;

export interface OpenCount {
  destination: string;
  status: string;
  count: number;
  /** when the oldest was accepted, ms since 1970 */
  oldest: number;
}

/** Returns the number of open deliveries, by destination and status. */
export function openDeliveries(database: Database): Promise<OpenCount[]> {
  return database.query<OpenCount & Record<string, unknown>>(
    `select destination, status, count(*)::bigint as count, min(accepted_at) as oldest from waypost.deliveries
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
