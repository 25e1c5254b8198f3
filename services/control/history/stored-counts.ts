import { type Database, databaseJson, type Queries, UNHURRIED } from './database';
import {
  addColumns,
  type CountColumns,
  type Counts,
  CountSums,
  columnsOf,
  KINDS,
  type SummedCounts,
} from './minute-counts';

/**
 * Stores the counts of deliveries: a row for each destination and hour, and for each destination
 * and minute of the last day. The sums over all destinations are rows of their own, so that a chart
 * of everything reads few rows; the sums of another group of destinations, such as those of an
 * owner, would be rows of this kind.
 *
 * What is new counts in its minute. Every ten minutes the minutes that have ended are added to
 * their hours, and what still comes for one of them counts in both.
 */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** In place of a destination: the sum over all. */
export const ALL = '';
/** Of the history's space. */
const SHARE = 1 / 4;
/** A row with its indexes, and the free half of its page. An estimate. */
const ROW_BYTES = 320;
/** Of the rows, dropped beyond what is too much, so that this is seldom. */
const SPARE = 1 / 10;
/** Of these minutes none is dropped. */
const LATEST_MS = 2 * HOUR_MS;
/** So many minutes at once are added to their hours, of which each row then changes six times. */
const STEP_MS = 10 * MINUTE_MS;
/** By then nearly all events of a minute are read. */
const SETTLED_MS = MINUTE_MS;

/** What the table `counted` says. Times are ms since 1970. */
interface Marks {
  /** minutes before this time are dropped, and count in their hours only */
  minutesFrom: number;
  /** minutes before this time count in their hours */
  hoursTo: number;
}

/** Locks them until the transaction ends, so that only one process at a time changes counts. */
async function lockMarks({ query }: Queries): Promise<Marks> {
  const [row] = await query<{ minutes_from: number; hours_to: number }>(
    'select minutes_from, hours_to from waypost.counted for update',
  );
  return { minutesFrom: row?.minutes_from ?? 0, hoursTo: row?.hours_to ?? 0 };
}

/** Returns the time before which only hours are counted, ms since 1970. */
export async function oldestMinute({ query }: Queries): Promise<number> {
  const [row] = await query<{ minutes_from: number }>('select minutes_from from waypost.counted');
  return row?.minutes_from ?? 0;
}

function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS;
}

export async function addCounts(queries: Queries, sums: CountSums): Promise<void> {
  const summed = sums.all();
  if (summed.length === 0) return;
  const { minutesFrom, hoursTo } = await lockMarks(queries);
  const [minutes, hours] = [new CountSums(), new CountSums()];
  for (const { destination, minute, counts } of summed) {
    for (const each of [destination, ALL]) {
      if (minute >= minutesFrom) addAll(minutes.of(each, minute), counts);
      if (minute < hoursTo) addAll(hours.of(each, hourOf(minute)), counts);
    }
  }
  await addToRows(queries, 1, minutes);
  await addToRows(queries, 60, hours);
}

function addAll(sum: Counts, counts: Counts): void {
  for (const [what, count] of counts) sum.set(what, (sum.get(what) ?? 0) + count);
}

const COLUMNS = [...KINDS, 'took'].join(', ');
const COLUMN_TYPES = [...KINDS.map((kind) => `${kind} int`), 'took text'].join(', ');
export const SUM = [
  ...KINDS.map((kind) => `sum(${kind})::bigint as ${kind}`),
  `string_agg(took, ' ') as took`,
].join(', ');

/** The caller has locked the marks, so no other process changes the rows meanwhile. */
async function addToRows({ query }: Queries, minutes: 1 | 60, sums: CountSums): Promise<void> {
  const added = sums.all();
  if (added.length === 0) return;
  const keys = added.map(({ destination, minute }) => ({ destination, minute }));
  const known = await query<Omit<SummedCounts, 'counts'> & CountColumns & Record<string, unknown>>(
    `select known.destination, known.minute, ${COLUMNS} from waypost.counts known
     join jsonb_to_recordset($1::jsonb) as given(destination text, minute bigint)
       on known.destination = given.destination and known.minute = given.minute
     where known.minutes = $2::smallint`,
    [databaseJson(keys), minutes],
  );
  for (const row of known) addColumns(sums.of(row.destination, row.minute), row);
  const rows = added.map(({ counts, ...key }) => ({ ...key, ...columnsOf(counts) }));
  await query(
    `insert into waypost.counts (destination, minutes, minute, ${COLUMNS})
     select destination, $2::smallint, minute, ${COLUMNS} from jsonb_to_recordset($1::jsonb)
       as given(destination text, minute bigint, ${COLUMN_TYPES})
     on conflict (destination, minutes, minute) do update
       set (${COLUMNS}) = (${COLUMNS.replace(/\w+/g, 'excluded.$&')})`,
    [databaseJson(rows), minutes],
  );
}

/** Adds the minutes that have ended to their hours, some minutes in each transaction. */
async function countHours(database: Database, nowMs: number): Promise<void> {
  const untilMs = Math.floor((nowMs - SETTLED_MS) / STEP_MS) * STEP_MS;
  const addNext = () =>
    database.transaction(async (queries) => {
      const { query } = queries;
      const { hoursTo } = await lockMarks(queries);
      if (hoursTo >= untilMs) return false;
      const [oldest] = await query<{ minute: number | null }>(
        `select min(minute) as minute from waypost.counts
         where minutes = 1 and minute >= $1::bigint`,
        [hoursTo],
      );
      const fromMs = Math.min(oldest?.minute ?? untilMs, untilMs);
      const toMs = Math.min(Math.floor(fromMs / STEP_MS) * STEP_MS + STEP_MS, untilMs);
      const rows = await query<{ destination: string } & CountColumns & Record<string, unknown>>(
        `select destination, ${SUM} from waypost.counts
         where minutes = 1 and minute >= $1::bigint and minute < $2::bigint group by destination`,
        [fromMs, toMs],
      );
      const hours = new CountSums();
      for (const row of rows) addColumns(hours.of(row.destination, hourOf(fromMs)), row);
      await addToRows(queries, 60, hours);
      await query('update waypost.counted set hours_to = $1::bigint', [toMs]);
      return true;
    });
  let isBehind = true;
  while (isBehind) isBehind = await addNext();
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
 * Adds minutes to their hours, and drops the minutes before the last day, and what is too old or
 * too much: first old minutes, then old hours.
 */
export async function keepCounts(
  database: Database,
  { sinceMs, maxBytes }: { sinceMs: number; maxBytes: number },
  nowMs: number,
): Promise<void> {
  await countHours(database, nowMs);
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

export interface HourRows {
  minutes: 1 | 60;
  hour: number;
  count: number;
}

function rowsByHour(database: Database): Promise<HourRows[]> {
  return database.transaction(async ({ query }) => {
    // On a server these may be a hundred million rows.
    await query(UNHURRIED);
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
 * From the first moment on hours serve in place of these minutes. This moment only moves on,
 * because dropped minutes do not come back; except from a time that a wrong clock set.
 */
async function dropMinutes(database: Database, beforeMs: number, nowMs: number): Promise<void> {
  const [row] = await database.query<{ minutes_from: number }>(
    `update waypost.counted set minutes_from = greatest(least($1::bigint, hours_to),
       case when minutes_from <= $2::bigint then minutes_from end) returning minutes_from`,
    [beforeMs, nowMs],
  );
  await dropBefore(database, 1, row?.minutes_from ?? 0);
}

/**
 * Drops the rows of one hour after the other: each is found by an index, and writers wait shortly.
 */
async function dropBefore(database: Database, minutes: 1 | 60, beforeMs: number): Promise<void> {
  for (;;) {
    const [oldest] = await database.query<{ minute: number | null }>(
      'select min(minute) as minute from waypost.counts where minutes = $1::smallint',
      [minutes],
    );
    if (oldest?.minute == null || oldest.minute >= beforeMs) return;
    const untilMs = Math.min(hourOf(oldest.minute) + HOUR_MS, beforeMs);
    await database.transaction(async (queries) => {
      await lockMarks(queries);
      await queries.query(
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
 * SQL: the rows of a span. Hours cover it up to a border, and minutes from there on. Hours serve
 * where no minutes are left, and wherever steps and the beginning of the span are whole hours.
 * @param since, until, is SQL: the times of the span, and the condition of each row
 */
export function countedIn(
  { sinceMs, stepMs = HOUR_MS }: { sinceMs: number; stepMs?: number },
  { since, until, is }: { since: string; until: string; is: string },
): string {
  const isWhole = sinceMs % HOUR_MS === 0 && stepMs % HOUR_MS === 0;
  // A span that ends before the last minute in the hours would get too much of its last hour.
  const inHours = `case when hours_to <= ${until}::bigint then hours_to
    else ${until}::bigint / ${HOUR_MS} * ${HOUR_MS} end`;
  const border = isWhole ? `greatest(minutes_from, ${inHours})` : 'minutes_from';
  const rows = (minutes: number, condition: string) =>
    `select * from waypost.counts where minutes = ${minutes} and ${is}
       and minute >= ${since}::bigint and minute < ${until}::bigint
       and minute ${condition} (select ${border} from waypost.counted)`;
  return `(${rows(60, '<')} union all ${rows(1, '>=')}) as counts`;
}
