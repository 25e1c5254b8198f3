import { databaseJson, type Database, type Queries } from './database';
import { CountSums, type MinuteCount } from './minute-counts';

/**
 * Stores the counts of deliveries by destination and hour, and for the last day also by minute. The
 * sums over all destinations are rows of their own, so that a chart of everything reads few rows;
 * the sums of another group of destinations, such as those of an owner, would be rows of this kind.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** In place of a destination: the sum over all. */
export const ALL = '';
/** Of the history's space. */
const SHARE = 1 / 4;
/** A row with its index. */
const ROW_BYTES = 181;
/** Of the rows, dropped beyond what is too much, so that this is seldom. */
const SPARE = 1 / 10;
/** Of these minutes none is dropped. */
const LATEST_MS = 2 * HOUR_MS;
/** In the table `meta`: minutes before this time are dropped, or about to be. */
const MINUTES_FROM = 'minutes_from';
/** Otherwise the rows that are dropped and those that are written could be locked in two orders. */
const ONE_WRITER = 'lock table waypost.counts in share row exclusive mode';

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

/** The rows of minutes and of hours, each in the order in which all processes lock them. */
function rowsOf(counts: readonly MinuteCount[]) {
  const [minutes, hours] = [new CountSums(), new CountSums()];
  for (const count of counts) {
    const hour = hourOf(count.minute);
    for (const destination of [count.destination, ALL]) {
      minutes.add({ ...count, destination });
      hours.add({ ...count, destination, minute: hour });
    }
  }
  const row = (width: number) => (count: MinuteCount) => ({ ...count, minutes: width });
  return [...minutes.all().map(row(1)), ...hours.all().map(row(60))];
}

export async function addCounts({ query }: Queries, counts: readonly MinuteCount[]): Promise<void> {
  if (counts.length === 0) return;
  await query(
    `insert into waypost.counts (destination, minutes, minute, what, count)
     select destination, minutes, minute, what, count from jsonb_to_recordset($1::jsonb)
       as given(destination text, minutes smallint, minute bigint, what text, count bigint)
     on conflict (destination, minutes, minute, what) do update set count = waypost.counts.count + excluded.count`,
    [databaseJson(rowsOf(counts))],
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

/**
 * Drops the minutes before the last day, and what is too old or too much: first old minutes, then
 * old hours.
 */
export async function keepCounts(
  database: Database,
  { sinceMs, maxBytes }: { sinceMs: number; maxBytes: number },
  nowMs: number,
): Promise<void> {
  await dropMinutes(database, hourOf(Math.max(nowMs - DAY_MS, sinceMs)), nowMs);
  await dropBefore(database, 60, sinceMs);
  const most = Math.floor(bytesForCounts(maxBytes) / ROW_BYTES);
  if ((await estimatedRows(database)) <= most) return;
  const from = countsToKeep(await rowsByHour(database), most * (1 - SPARE), nowMs);
  await dropMinutes(database, from.minutes, nowMs);
  await dropBefore(database, 60, from.hours);
  await database.query('analyze waypost.counts');
}

/** Looking at each row takes long; the database's own estimate is a few per cent off. */
async function estimatedRows({ query }: Queries): Promise<number> {
  const [row] = await query<{ rows: number }>(
    `select reltuples::bigint as rows from pg_class where oid = 'waypost.counts'::regclass`,
  );
  return row?.rows ?? 0;
}

/** The number of rows of an hour. */
export interface HourRows {
  /** minutes that each row counts */
  minutes: 1 | 60;
  hour: number;
  count: number;
}

function rowsByHour(database: Database): Promise<HourRows[]> {
  return database.transaction(async ({ query }) => {
    // On a server these may be a hundred million rows.
    await query('set local statement_timeout = 0');
    return query<HourRows & Record<string, unknown>>(
      `select minutes, minute / ${HOUR_MS} * ${HOUR_MS} as hour, count(*) as count
       from waypost.counts group by 1, 2`,
    );
  });
}

/**
 * Returns from when on minutes and hours can be kept: the latest minutes, which tell whether a
 * destination fails now, then the newest hours, then further minutes. Pure.
 */
export function countsToKeep(
  rows: readonly HourRows[],
  most: number,
  nowMs: number,
): { minutes: number; hours: number } {
  const latest = hourOf(nowMs - LATEST_MS);
  const isLatest = ({ minutes, hour }: HourRows) => minutes === 1 && hour >= latest;
  const rank = (row: HourRows) => (isLatest(row) ? 0 : row.minutes === 60 ? 1 : 2);
  const from = { minutes: 0, hours: 0 };
  let sum = 0;
  for (const row of [...rows].sort((a, b) => rank(a) - rank(b) || b.hour - a.hour)) {
    sum += row.count;
    if (sum <= most || isLatest(row)) continue;
    const width = row.minutes === 60 ? 'hours' : 'minutes';
    from[width] = Math.max(from[width], row.hour + HOUR_MS);
  }
  return from;
}

/**
 * From the first moment on hours serve in place of these minutes. This moment only moves on, because
 * dropped minutes do not come back; except from a time that a wrong clock set.
 */
async function dropMinutes(database: Database, beforeMs: number, nowMs: number): Promise<void> {
  await database.query(
    `insert into waypost.meta values ('${MINUTES_FROM}', $1)
     on conflict (key) do update set value = excluded.value
     where waypost.meta.value::bigint < excluded.value::bigint
       or waypost.meta.value::bigint > $2::bigint`,
    [String(beforeMs), nowMs],
  );
  await dropBefore(database, 1, beforeMs);
}

/** Drops the rows of one hour after the other: each is found by an index, and writers wait shortly. */
async function dropBefore(database: Database, minutes: 1 | 60, beforeMs: number): Promise<void> {
  for (;;) {
    const [oldest] = await database.query<{ minute: number | null }>(
      'select min(minute) as minute from waypost.counts where minutes = $1::smallint',
      [minutes],
    );
    if (oldest?.minute == null || oldest.minute >= beforeMs) return;
    const untilMs = Math.min(hourOf(oldest.minute) + HOUR_MS, beforeMs);
    await database.transaction(async ({ query }) => {
      await query(ONE_WRITER);
      await query(
        'delete from waypost.counts where minutes = $1::smallint and minute < $2::bigint',
        [minutes, untilMs],
      );
    });
  }
}

/** Times are ms since 1970; `untilMs` is exclusive. */
export interface CountedSpan {
  sinceMs: number;
  untilMs: number;
}

/** SQL: the destinations of a JSON list, each looked up by the index. */
export const oneOf = (list: string) =>
  `jsonb_array_elements_text(${list}::jsonb) as asked(id) cross join lateral`;

/**
 * SQL: the rows of a span. Hours cover it up to a border, and minutes from there on.
 * @param is the condition of each row
 */
export function countedIn(since: string, until: string, border: string, is: string): string {
  const rows = (minutes: number, from: string, to: string) =>
    `select * from waypost.counts where minutes = ${minutes} and ${is}
       and minute >= ${from}::bigint and minute < ${to}::bigint`;
  return `(${rows(60, since, `least(${until}::bigint, ${border})`)}
     union all ${rows(1, `greatest(${since}::bigint, ${border})`, until)}) as counts`;
}

/**
 * Returns the border between the hours and the minutes of a span. Hours serve where no minutes are
 * left, and wherever steps and the beginning of the span are whole hours.
 */
export async function borderOf(
  { query }: Queries,
  { sinceMs, untilMs }: CountedSpan,
  stepMs = HOUR_MS,
): Promise<number> {
  const minute = (order: string) =>
    `(select minute from waypost.counts where destination = '' and minutes = 1 order by minute ${order} limit 1)`;
  const [known] = await query<{ oldest: number | null; newest: number | null; from: number }>(
    `select ${minute('asc')} as oldest, ${minute('desc')} as newest,
       coalesce((select value::bigint from waypost.meta where key = '${MINUTES_FROM}'), 0) as from`,
  );
  // A late count may be alone in a minute whose others were dropped.
  const kept = known?.oldest == null ? untilMs : Math.max(hourOf(known.oldest), known.from);
  if (sinceMs % HOUR_MS !== 0 || stepMs % HOUR_MS !== 0) return kept;
  // The row of the running hour has nothing after the end of the span, if no minute has.
  const isWhole = (known?.newest ?? 0) < untilMs;
  return Math.max(kept, isWhole ? untilMs : hourOf(untilMs));
}
