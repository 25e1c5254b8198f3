import { databaseJson, type Database, type Queries } from '../history/database';

/**
 * Stores the track events of each source by name, and the position up to which `messages` was
 * counted.
 */

export interface EventName {
  source: string;
  name: string;
  count: number;
  /** ms since 1970 */
  lastAt: number;
}

/** Counts of a range of one partition. */
export interface CountedPosition {
  partition: number;
  from: number;
  to: number;
  events: readonly EventName[];
}

/** Limits a source that puts content into event names. The least recent name is dropped. */
export const MAX_NAMES = 1_000;

/** Returns the next offset to count, by partition. */
export async function countedPositions({ query }: Queries): Promise<Map<number, number>> {
  const rows = await query<{ partition: number; next: number }>(
    'select partition, next from waypost.seen_positions',
  );
  return new Map(rows.map(({ partition, next }) => [partition, next]));
}

/**
 * Adds counts. If another process has counted some of the same records since, the later counts are
 * dropped, so that none counts twice.
 */
export async function addEventNames(
  database: Database,
  parts: readonly CountedPosition[],
): Promise<void> {
  await database.transaction(async (transaction) => {
    const { query } = transaction;
    await query('lock table waypost.seen_positions in exclusive mode');
    const known = await countedPositions(transaction);
    const fresh = parts.filter(({ partition, from }) => (known.get(partition) ?? 0) <= from);
    const further = parts.filter(({ partition, to }) => (known.get(partition) ?? 0) < to);
    await addRows(transaction, summed(fresh.flatMap(({ events }) => events)));
    await query(
      `insert into waypost.seen_positions (partition, next)
       select partition, next from jsonb_to_recordset($1::jsonb) as given(partition int, next bigint)
       on conflict (partition) do update set next = excluded.next`,
      [databaseJson(further.map(({ partition, to }) => ({ partition, next: to })))],
    );
  });
}

async function addRows({ query }: Queries, events: readonly EventName[]): Promise<void> {
  if (events.length === 0) return;
  await query(
    `insert into waypost.seen_events (source, name, count, last_at)
     select source, name, count, "lastAt"
     from jsonb_to_recordset($1::jsonb) as given(source text, name text, count bigint, "lastAt" bigint)
     on conflict (source, name) do update set
       count = waypost.seen_events.count + excluded.count, last_at = greatest(waypost.seen_events.last_at, excluded.last_at)`,
    [databaseJson(events)],
  );
  await query(
    `delete from waypost.seen_events old using (
       select source, name, row_number() over (partition by source order by last_at desc, name) as rank
       from waypost.seen_events where source in (select jsonb_array_elements_text($1::jsonb))
     ) ranked
     where old.source = ranked.source and old.name = ranked.name and ranked.rank > $2::int`,
    [databaseJson([...new Set(events.map(({ source }) => source))]), MAX_NAMES],
  );
}

/** Returns the names of a source, the most recent first. */
export async function listEventNames({ query }: Queries, source: string): Promise<EventName[]> {
  const rows = await query<{ name: string; count: number; last_at: number }>(
    'select name, count, last_at from waypost.seen_events where source = $1 order by ' +
      'last_at desc, name limit $2::int',
    [source, MAX_NAMES],
  );
  return rows.map((row) => ({ source, name: row.name, count: row.count, lastAt: row.last_at }));
}

/** Merges duplicates, since one statement must not insert a row twice. */
function summed(events: readonly EventName[]): EventName[] {
  const sums = new Map<string, EventName>();
  for (const given of events) {
    // PostgreSQL cannot store some characters; names that differ only in these are merged.
    const event = { ...given, name: JSON.parse(databaseJson(given.name)) as string };
    const key = `${event.source} ${event.name}`;
    const { count = 0, lastAt = 0 } = sums.get(key) ?? {};
    sums.set(key, { ...event, count: count + event.count, lastAt: Math.max(lastAt, event.lastAt) });
  }
  return [...sums.values()];
}
