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
/** Otherwise the rows that are dropped and those that are written could be locked in two orders. */
const ONE_WRITER = 'lock table waypost.counts in share row exclusive mode';

/** The rows of minutes and of hours, each in the order in which all processes lock them. */
function rowsOf(counts: readonly MinuteCount[]) {
  const [minutes, hours] = [new CountSums(), new CountSums()];
  for (const count of counts) {
    const hour = Math.floor(count.minute / HOUR_MS) * HOUR_MS;
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

/** Drops the minutes before the last day, and what is too old or too much: minutes before hours. */
export async function keepCounts(
  database: Database,
  { sinceMs, maxBytes }: { sinceMs: number; maxBytes: number },
  nowMs: number,
): Promise<void> {
  const most = Math.floor(bytesForCounts(maxBytes) / ROW_BYTES);
  const hourOf = (ms: number) => Math.floor(ms / HOUR_MS) * HOUR_MS;
  const keep = { 1: Math.max(hourOf(nowMs - DAY_MS), sinceMs), 60: sinceMs };
  await database.transaction(async ({ query }) => {
    const rows = await query<{ minutes: 1 | 60; hour: number; count: number }>(
      `select minutes, minute / ${HOUR_MS} * ${HOUR_MS} as hour, count(*) as count
       from waypost.counts where minute < $1::bigint or $2 group by 1, 2 order by 1 desc, 2 desc`,
      [keep[1], (await bytesOfCounts({ query })) > bytesForCounts(maxBytes)],
    );
    let sum = 0;
    for (const { minutes, hour, count } of rows) {
      sum += count;
      if (sum > most) keep[minutes] = Math.max(keep[minutes], hour + HOUR_MS);
    }
    if (!rows.some(({ minutes, hour }) => hour < keep[minutes])) return;
    await query(ONE_WRITER);
    await query(
      `delete from waypost.counts where minutes = 1 and minute < $1::bigint or minute < $2::bigint`,
      [Math.max(keep[1], keep[60]), keep[60]],
    );
  });
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
  const [known] = await query<{ oldest: number | null; newest: number | null }>(
    `select ${minute('asc')} as oldest, ${minute('desc')} as newest`,
  );
  const hourOf = (ms: number) => Math.floor(ms / HOUR_MS) * HOUR_MS;
  // A late count may be alone in an old minute.
  const kept =
    known?.oldest == null || known.newest === null
      ? untilMs
      : hourOf(Math.max(known.oldest, known.newest - DAY_MS));
  if (sinceMs % HOUR_MS !== 0 || stepMs % HOUR_MS !== 0) return kept;
  // The row of the running hour has nothing after the end of the span, if no minute has.
  const isWhole = (known?.newest ?? 0) < untilMs;
  return Math.max(kept, isWhole ? untilMs : hourOf(untilMs));
}
