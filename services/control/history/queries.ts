import { type StoredResponse } from '../../../shared/model/stored-response';
import { COLUMNS, fromColumns } from './row-codec';
import { type Asking, type Database, databaseJson, type Param, type Queries } from './database';
import {
  allOf,
  behind,
  conditionsOf,
  endedIn,
  type Filter,
  parameters,
  shownStatus,
  timesOf,
  whereOf,
} from './filter';
import { OPEN_STATUSES } from '../../../shared/model/reasons';
import { type DeliveryRow } from './delivery-row';
import { type CountColumns } from './minute-counts';
import {
  countNewest,
  type Cursor,
  listNewest,
  MOST_LOOKED,
  type NewestPage,
  type NewestQuery,
} from './newest';
import { ALL, countedIn, type CountedSpan, oneOf, SUM } from './stored-counts';

/**
 * Queries of the API.
 */

const NEWEST_FIRST = 'accepted_at desc, id desc';

/**
 * Lists the newest first, and by id within a millisecond. A page looks at a limited number of
 * deliveries, so it may end before it is full.
 */
export async function listDeliveries(
  database: Database,
  filter: Filter,
  { limit, after }: { limit: number; after?: Cursor | undefined },
): Promise<NewestPage<DeliveryRow>> {
  const query = await newestQuery(database, filter, after);
  const { rows, stoppedAt } = await listNewest(database, query, limit);
  const last = stoppedAt && fromColumns(stoppedAt);
  return { rows: rows.map(fromColumns), stoppedAt: last && cursorOf(last) };
}

/**
 * Reads a page, and goes on as long as it is not full and may. Others can ask the history in
 * between.
 */
export async function fillDeliveryPage(
  history: Asking,
  filter: Filter,
  { limit, after }: { limit: number; after?: Cursor | undefined },
  mayGoOn: () => boolean,
): Promise<NewestPage<DeliveryRow>> {
  const rows: DeliveryRow[] = [];
  let from = after;
  for (;;) {
    const page = { limit: limit - rows.length, after: from };
    const found = await history.ask((database) => listDeliveries(database, filter, page));
    const { stoppedAt } = found;
    rows.push(...found.rows);
    if (stoppedAt === undefined || rows.length >= limit || !mayGoOn()) return { rows, stoppedAt };
    from = stoppedAt;
  }
}

/** Counts the deliveries that a list finds, as far as one page looks. */
export async function countDeliveries(
  database: Database,
  filter: Filter,
): Promise<{ count: number; exact: boolean }> {
  return countNewest(database, await newestQuery(database, filter, undefined));
}

export function cursorOf({ acceptedAt, id }: DeliveryRow): Cursor {
  return { at: acceptedAt, id };
}

async function newestQuery(
  database: Database,
  filter: Filter,
  after: Cursor | undefined,
): Promise<NewestQuery> {
  const { params, param } = parameters();
  const { few, ordered, fits } = conditionsOf(filter, param);
  const times = timesOf(filter, param);
  if (after) {
    const at = `${param(after.at)}::bigint`;
    times.push(...behind('accepted_at', ['id'], at, [param(after.id)]));
  }
  const from = (conditions: readonly string[]) =>
    `select ${COLUMNS} from waypost.deliveries ${whereOf(conditions)}`;
  const found = few ?? (await fewEnded(database, filter, param));
  // Without `offset 0` PostgreSQL may look for few rows among all, in the order of the list.
  const newest =
    found === undefined
      ? ordered.map((each) => from([each, ...times]))
      : [`select * from (${from([found, ...times])} offset 0) as few`];
  return { newest, fits, order: NEWEST_FIRST, params };
}

/**
 * Returns the condition of the time at which deliveries ended, if few ended in it. Its index is not
 * in the order of the list.
 */
async function fewEnded(
  { query }: Database,
  filter: Filter,
  param: (value: Param) => string,
): Promise<string | undefined> {
  if (filter.endedSince === undefined) return undefined;
  const counted = parameters();
  const [row] = await query<{ count: number }>(
    `select count(*)::bigint as count from (
       select from waypost.deliveries ${whereOf(endedIn(filter, counted.param))}
       limit ${MOST_LOOKED + 1}) as ended`,
    counted.params,
  );
  if (row === undefined || row.count > MOST_LOOKED) return undefined;
  return allOf(endedIn(filter, param));
}

export async function getDelivery(
  database: Database,
  id: string,
): Promise<DeliveryRow | undefined> {
  const [row] = await database.query(`select ${COLUMNS} from waypost.deliveries where id = $1`, [
    id,
  ]);
  return row && fromColumns(row);
}

export async function getDeliveries(
  database: Database,
  ids: readonly string[],
): Promise<DeliveryRow[]> {
  if (ids.length === 0) return [];
  const rows = await database.query(
    `select ${COLUMNS} from waypost.deliveries
     where id in (select jsonb_array_elements_text($1::jsonb))`,
    [databaseJson(ids)],
  );
  return rows.map(fromColumns);
}

export interface ResponseKey {
  acceptedAt: number;
  delivery: string;
  seq: number;
}

export async function getResponses(
  database: Database,
  keys: readonly ResponseKey[],
): Promise<ReadonlyMap<string, StoredResponse>> {
  if (keys.length === 0) return new Map();
  const rows = await database.query<{ delivery: string; seq: number; response: string }>(
    `select r.delivery, r.seq, r.response from waypost.responses r
     join jsonb_to_recordset($1::jsonb) as k("acceptedAt" bigint, delivery text, seq int)
       on r.accepted_at = k."acceptedAt" and r.delivery = k.delivery and r.seq = k.seq`,
    [databaseJson(keys)],
  );
  return new Map(
    rows.map(({ delivery, seq, response }) => [
      `${delivery}/${String(seq)}`,
      JSON.parse(response) as StoredResponse,
    ]),
  );
}

export interface DestinationCount extends CountColumns {
  destination: string;
}

export async function countsBetween(
  { query }: Queries,
  { sinceMs, untilMs }: CountedSpan,
  destinations: readonly string[],
): Promise<DestinationCount[]> {
  return query<DestinationCount & Record<string, unknown>>(
    `select destination, ${SUM} from ${oneOf('$3')}
       ${countedIn({ sinceMs }, { since: '$1', until: '$2', is: IS_ASKED })} group by destination`,
    [sinceMs, untilMs, databaseJson(destinations)],
  );
}

/** Returns the destinations with a failed attempt, or with a dead letter, since a time. */
export async function withSince(
  { query }: Queries,
  what: 'failed' | 'dead',
  { sinceMs, untilMs }: CountedSpan,
): Promise<string[]> {
  const is = `destination > '${ALL}' and ${what} <> 0`;
  const rows = await query<{ destination: string }>(
    `select destination from ${countedIn({ sinceMs }, { since: '$1', until: '$2', is })}
     group by destination having sum(${what}) > 0`,
    [sinceMs, untilMs],
  );
  return rows.map(({ destination }) => destination);
}

const IS_ASKED = 'destination = asked.id';

export interface SeriesCount extends CountColumns {
  at: number;
}

/** Returns the counts in steps of time, of one destination or of all, those of each step once. */
export async function countsInSteps(
  { query }: Queries,
  {
    sinceMs,
    untilMs,
    stepMs,
    destination = ALL,
  }: CountedSpan & { stepMs: number; destination: string | undefined },
): Promise<SeriesCount[]> {
  const is = 'destination = $4';
  return query<SeriesCount & Record<string, unknown>>(
    `select (minute / $3::bigint) * $3::bigint as at, ${SUM}
     from ${countedIn({ sinceMs, stepMs }, { since: '$1', until: '$2', is })}
     group by 1 order by 1`,
    [sinceMs, untilMs, stepMs, destination],
  );
}

export type TrendCount = Pick<DestinationCount, 'destination' | 'delivered' | 'failed'> &
  Pick<SeriesCount, 'at'>;

/** Returns the deliveries and the failed attempts of these destinations in steps of time. */
export async function trendsInSteps(
  { query }: Queries,
  { sinceMs, untilMs, stepMs }: CountedSpan & { stepMs: number },
  destinations: readonly string[],
): Promise<TrendCount[]> {
  return query<TrendCount & Record<string, unknown>>(
    `select destination, (minute / $3::bigint) * $3::bigint as at,
       sum(delivered)::bigint as delivered, sum(failed)::bigint as failed from ${oneOf('$4')}
       ${countedIn({ sinceMs, stepMs }, { since: '$1', until: '$2', is: IS_ASKED })} group by 1, 2`,
    [sinceMs, untilMs, stepMs, databaseJson(destinations)],
  );
}

const IS_OPEN = `status in (${OPEN_STATUSES.map((status) => `'${status}'`).join(', ')})`;

export interface OpenCount {
  destination: string;
  status: string;
  count: number;
  /** when the oldest was accepted, ms since 1970 */
  oldest: number;
}

/** @param paused ids of the paused destinations */
export function openDeliveries(
  database: Database,
  paused: readonly string[],
): Promise<OpenCount[]> {
  return database.query<OpenCount & Record<string, unknown>>(
    `select destination, ${shownStatus('$1')} as status, count(*)::bigint as count,
       min(accepted_at) as oldest
     from waypost.deliveries where ${IS_OPEN} and not test group by 1, 2`,
    [databaseJson(paused)],
  );
}

/** Deliveries of one destination. */
export interface DeliveryTotal {
  count: number;
  /** when the oldest was accepted, ms since 1970; null: there is none */
  oldestAt: number | null;
}

async function deliveriesOf(
  { query }: Queries,
  where: string,
  [destination, ...params]: [string, ...Param[]],
): Promise<DeliveryTotal> {
  const [row] = await query<{ count: number; oldest: number | null }>(
    `select count(*)::bigint as count, min(accepted_at) as oldest from waypost.deliveries
     where destination = $1 and not test and ${where}`,
    [destination, ...params],
  );
  return { count: row?.count ?? 0, oldestAt: row?.oldest ?? null };
}

export function openOf(queries: Queries, destination: string): Promise<DeliveryTotal> {
  return deliveriesOf(queries, IS_OPEN, [destination]);
}

/** Finds those that were given up since a time, and not replayed since. */
export function deadOf(
  queries: Queries,
  destination: string,
  sinceMs: number,
): Promise<DeliveryTotal> {
  const where = `status = 'dead' and settled_at >= $2::bigint`;
  return deliveriesOf(queries, where, [destination, sinceMs]);
}

/**
 * A URL may fail this long after another one has settled the delivery, and clocks of processes may
 * differ.
 */
const LATE_MS = 60_000;

/** Finds those that ended since a time because no URL was on, and were not replayed since. */
export function lostToDisabled(
  queries: Queries,
  destination: string,
  sinceMs: number,
): Promise<DeliveryTotal> {
  const where = `status = 'dead' and reason = 'url_disabled' and settled_at >= $2::bigint`;
  return deliveriesOf(queries, where, [destination, sinceMs - LATE_MS]);
}

/** Finds those that some URL lacks, settled since a time or shortly before. */
export function partlyOf(
  queries: Queries,
  destination: string,
  sinceMs: number,
): Promise<DeliveryTotal> {
  const where = `status = 'partly_delivered' and settled_at >= $2::bigint`;
  return deliveriesOf(queries, where, [destination, sinceMs - LATE_MS]);
}

/** Returns the newest delivery of each of these destinations that was given up within a span. */
export async function newestDead(
  database: Database,
  { sinceMs, untilMs }: CountedSpan,
  destinations: readonly string[],
): Promise<DeliveryRow[]> {
  if (destinations.length === 0) return [];
  const rows = await database.query(
    `select newest.* from jsonb_array_elements_text($3::jsonb) as asked(destination_id)
     cross join lateral (
       select ${COLUMNS} from waypost.deliveries
       where destination = asked.destination_id and status = 'dead' and not test
         and settled_at >= $1::bigint and settled_at < $2::bigint
       order by accepted_at desc limit 1
     ) as newest`,
    [sinceMs, untilMs, databaseJson(destinations)],
  );
  return rows.map(fromColumns);
}

/** Returns the minutes of a destination with a failure, in order, as long as minutes are kept. */
export async function troubledMinutes(
  { query }: Database,
  destination: string,
  sinceMs: number,
): Promise<number[]> {
  const rows = await query<{ minute: number }>(
    `select minute from waypost.counts
     where destination = $1 and minutes = 1 and minute >= $2::bigint
       and (failed <> 0 or partly <> 0)
     order by minute`,
    [destination, sinceMs],
  );
  return rows.map(({ minute }) => minute);
}

export async function lastAttemptMinute(
  { query }: Database,
  destination: string,
): Promise<number | null> {
  const [row] = await query<{ last: number | null }>(
    `select max(minute) as last from waypost.counts where destination = $1 and attempts <> 0`,
    [destination],
  );
  return row?.last ?? null;
}
