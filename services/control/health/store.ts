import { groupBy } from '../../../shared/collections/group-by';
import { type NoticeEvent } from '../../../shared/model/attempt-events';
import { databaseJson, type Queries } from '../history/database';
import { type Evidence, type HealthEvidence } from './attempt-evidence';
import {
  addEvidence,
  type Health,
  isQuiet,
  type KnownHealth,
  unknownHealth,
} from './destination-health';
import { type Fact, isTracked } from './facts';

/** Stores what `attempts` shows of trouble: the health of destinations, and facts. */

/** Adds evidence. Call it in the transaction that moves the positions behind the evidence. */
export async function storeEvidence(
  queries: Queries,
  evidence: readonly Evidence[],
): Promise<void> {
  const facts = evidence.flatMap((each) => (each.kind === 'fact' ? [each.fact] : []));
  await addToHealth(
    queries,
    evidence.filter((each) => each.kind !== 'fact'),
  );
  await addFacts(queries, facts.filter(isTracked));
  // They are stored if something is known about the same.
  await addFacts(
    queries,
    facts.filter((fact) => !isTracked(fact)),
    `exists (
       select 1 from waypost.facts known
       where known.kind = given.kind and known.about = given.about
     )`,
  );
}

async function addFacts({ query }: Queries, facts: readonly Fact[], where = 'true'): Promise<void> {
  if (facts.length === 0) return;
  // In a fixed order, so that two transactions cannot deadlock.
  await query(
    `insert into waypost.facts (kind, about, mark, first_at, at, event)
     select kind, about, mark, min(at), max(at), (array_agg(event order by at desc))[1]
     from jsonb_to_recordset($1::jsonb)
       as given(kind text, about text, mark text, at bigint, event text)
     where ${where} group by kind, about, mark order by kind, about, mark
     on conflict (kind, about, mark) do update set
       first_at = least(facts.first_at, excluded.first_at),
       at = greatest(facts.at, excluded.at),
       event = case when excluded.at >= facts.at then excluded.event else facts.event end`,
    [
      databaseJson(
        facts.map(({ about, mark, at, event }) => ({
          kind: event.kind,
          about,
          mark,
          at,
          event: JSON.stringify(event),
        })),
      ),
    ],
  );
}

/** @param endsBefore leaves out the certificates of origins where none ends before this time */
export async function readFacts(
  { query }: Queries,
  kinds: readonly NoticeEvent['kind'][],
  endsBefore?: Date,
): Promise<Fact[]> {
  const rows = await query<Omit<Fact, 'firstAt' | 'event'> & { firstAt: number; event: string }>(
    `select about, mark, first_at as "firstAt", at, event from waypost.facts
     where kind in (select jsonb_array_elements_text($1::jsonb)) and (
       kind <> 'certificate'
       or about in (
         select about from waypost.facts
         where kind = 'certificate' and ($2::text is null or mark < $2)
       )
     )`,
    [databaseJson(kinds), endsBefore?.toISOString() ?? null],
  );
  return rows.map(({ event, ...row }) => ({ ...row, event: JSON.parse(event) as NoticeEvent }));
}

export async function dropFacts({ query }: Queries, facts: readonly Fact[]): Promise<void> {
  if (facts.length === 0) return;
  await query(
    `delete from waypost.facts
     using jsonb_to_recordset($1::jsonb) as given(kind text, about text, mark text)
     where facts.kind = given.kind and facts.about = given.about and facts.mark = given.mark`,
    [databaseJson(facts.map(({ about, mark, event }) => ({ kind: event.kind, about, mark })))],
  );
}

async function addToHealth(queries: Queries, evidence: readonly HealthEvidence[]): Promise<void> {
  if (evidence.length === 0) return;
  const byDestination = groupBy(evidence, ({ destination }) => destination);
  const known = await lockOrAdd(queries, [...byDestination.keys()]);
  const after = [...byDestination].map(
    ([destination, own]) =>
      [destination, addEvidence(known.get(destination) ?? unknownHealth(), own)] as const,
  );
  await saveHealth(queries, after);
}

/**
 * Returns the health of these destinations, and adds rows for those that have none: otherwise two
 * processes that add the same row would not know of each other's evidence.
 */
async function lockOrAdd(
  queries: Queries,
  destinations: readonly string[],
): Promise<Map<string, Health>> {
  const known = await lockHealth(queries, destinations);
  const lacking = destinations.filter((id) => !known.has(id)).sort();
  if (lacking.length === 0) return known;
  const health = unknownHealth();
  await queries.query(
    `insert into waypost.health (destination, quiet, health)
     select value, $2, $3 from jsonb_array_elements_text($1::jsonb)
     on conflict (destination) do nothing`,
    [databaseJson(lacking), isQuiet(health), JSON.stringify(health)],
  );
  return lockHealth(queries, destinations);
}

/** Returns the health of these destinations, locked until the transaction ends. */
export async function lockHealth(
  { query }: Queries,
  destinations: readonly string[],
): Promise<Map<string, Health>> {
  // Locks in a fixed order, so that two transactions cannot deadlock.
  const rows = await query<HealthRow>(
    `select destination, health from waypost.health
     where destination in (select jsonb_array_elements_text($1::jsonb))
     order by destination for update`,
    [databaseJson(destinations)],
  );
  return byDestination(rows);
}

export async function saveHealth(
  { query }: Queries,
  rows: readonly (readonly [string, Health])[],
): Promise<void> {
  if (rows.length === 0) return;
  const given = rows.map(([destination, health]) => ({
    destination,
    quiet: isQuiet(health),
    health: JSON.stringify(health),
  }));
  await query(
    `insert into waypost.health (destination, quiet, health)
     select destination, quiet, health from jsonb_to_recordset($1::jsonb)
       as given(destination text, quiet boolean, health text)
     on conflict (destination) do update set quiet = excluded.quiet, health = excluded.health`,
    [databaseJson(given)],
  );
}

const FAILING = `select destination, since from waypost.notices
  where kind = 'failing' and ended_at is null`;

/** Returns the destinations with trouble, or with a notice that they fail. */
export async function troubled({ query }: Queries): Promise<Map<string, Health>> {
  return byDestination(
    await query<HealthRow>(
      `select destination, health from waypost.health
       where not quiet or destination in (select destination from (${FAILING}) failing)`,
    ),
  );
}

export async function troubledIds({ query }: Queries): Promise<string[]> {
  const rows = await query<{ destination: string }>(
    'select destination from waypost.health where not quiet',
  );
  return rows.map(({ destination }) => destination);
}

export async function healthOfSome(
  { query }: Queries,
  destinations: readonly string[],
): Promise<Map<string, KnownHealth>> {
  const rows = await query<HealthRow & { since: number | null }>(
    `select destination, health, failing.since
     from waypost.health left join (${FAILING}) failing using (destination)
     where destination in (select jsonb_array_elements_text($1::jsonb))`,
    [databaseJson(destinations)],
  );
  return new Map(
    rows.map(({ destination, health, since }) => [
      destination,
      { ...(JSON.parse(health) as Health), failingSince: since ?? undefined },
    ]),
  );
}

type HealthRow = { destination: string; health: string };

function byDestination(rows: readonly HealthRow[]): Map<string, Health> {
  return new Map(
    rows.map(({ destination, health }) => [destination, JSON.parse(health) as Health]),
  );
}
