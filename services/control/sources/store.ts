import { databaseJson, type Queries, type Row } from '../history/database';

/** Stores the track events of each source by name, and when its last call came. */

/** In place of a name: all calls of the source. */
export const ANY_CALL = '';

export interface EventName {
  source: string;
  name: string;
  count: number;
  /** ms since 1970 */
  lastAt: number;
}

/** Limits a source that puts content into event names. The least recent name is dropped. */
export const MAX_NAMES = 1_000;

/** Adds counts. Call it in the transaction that moves the positions behind them. */
export async function addEventNames(
  { query }: Queries,
  given: readonly EventName[],
): Promise<void> {
  const calls = given.map((each) => ({ ...each, name: ANY_CALL }));
  const events = summed([...given.filter(({ name }) => name !== ANY_CALL), ...calls]);
  if (events.length === 0) return;
  // Writers are few and seldom. Without it two of them could lock rows in different orders.
  await query('lock table waypost.seen_events in share row exclusive mode');
  await query(
    `insert into waypost.seen_events (source, name, count, last_at)
     select source, name, count, "lastAt"
     from jsonb_to_recordset($1::jsonb)
       as given(source text, name text, count bigint, "lastAt" bigint)
     on conflict (source, name) do update set
       count = waypost.seen_events.count + excluded.count,
       last_at = greatest(waypost.seen_events.last_at, excluded.last_at)`,
    [databaseJson(events)],
  );
  await query(
    `delete from waypost.seen_events old using (
       select source, name,
         row_number() over (partition by source order by last_at desc, name) as rank
       from waypost.seen_events
       where name <> '${ANY_CALL}' and source in (select jsonb_array_elements_text($1::jsonb))
     ) ranked
     where old.source = ranked.source and old.name = ranked.name and ranked.rank > $2::int`,
    [databaseJson([...new Set(events.map(({ source }) => source))]), MAX_NAMES],
  );
}

/** Returns the names of a source, the most recent first. */
export async function listEventNames({ query }: Queries, source: string): Promise<EventName[]> {
  return query<EventName & Row>(
    `select source, name, count, last_at as "lastAt" from waypost.seen_events
     where source = $1 and name <> '${ANY_CALL}' order by last_at desc, name limit $2::int`,
    [source, MAX_NAMES],
  );
}

export interface Calls {
  count: number;
  /** when Kafka got the last one, ms since 1970 */
  lastAt: number;
}

export async function callsOf(
  { query }: Queries,
  sources: readonly string[],
): Promise<Map<string, Calls>> {
  const rows = await query<Calls & { source: string } & Row>(
    `select source, count, last_at as "lastAt" from waypost.seen_events
     where name = '${ANY_CALL}' and source in (select jsonb_array_elements_text($1::jsonb))`,
    [databaseJson(sources)],
  );
  return new Map(rows.map(({ source, ...calls }) => [source, calls]));
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
