import { databaseJson, type Queries } from '../history/database';
import { type Evidence } from './attempt-evidence';
import { addEvidence, type Health, isQuiet, unknownHealth } from './destination-health';

/** Stores the health of destinations: the evidence for alerts. */

/** Adds evidence. Call it in the transaction that moves the positions behind the evidence. */
export async function addToHealth(queries: Queries, evidence: readonly Evidence[]): Promise<void> {
  if (evidence.length === 0) return;
  const byDestination = new Map<string, Evidence[]>();
  for (const each of evidence) {
    const known = byDestination.get(each.destination);
    if (known) known.push(each);
    else byDestination.set(each.destination, [each]);
  }
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
     select value, $2, $3 from jsonb_array_elements_text($1::jsonb) on conflict (destination) do nothing`,
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
     where destination in (select jsonb_array_elements_text($1::jsonb)) order by destination for update`,
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

/** Returns the destinations that may need a decision. */
export async function troubled({ query }: Queries): Promise<Map<string, Health>> {
  return byDestination(
    await query<HealthRow>('select destination, health from waypost.health where not quiet'),
  );
}

/** Returns the ids of the destinations that may need a decision. */
export async function troubledIds({ query }: Queries): Promise<string[]> {
  const rows = await query<{ destination: string }>(
    'select destination from waypost.health where not quiet',
  );
  return rows.map(({ destination }) => destination);
}

/** Returns the health of these destinations. */
export async function healthOfSome(
  { query }: Queries,
  destinations: readonly string[],
): Promise<Map<string, Health>> {
  return byDestination(
    await query<HealthRow>(
      `select destination, health from waypost.health
       where destination in (select jsonb_array_elements_text($1::jsonb))`,
      [databaseJson(destinations)],
    ),
  );
}

type HealthRow = { destination: string; health: string };

function byDestination(rows: readonly HealthRow[]): Map<string, Health> {
  return new Map(
    rows.map(({ destination, health }) => [destination, JSON.parse(health) as Health]),
  );
}

/** Returns the health of one destination. */
export async function healthOfOne(
  { query }: Queries,
  destination: string,
): Promise<Health | undefined> {
  const [row] = await query<{ health: string }>(
    'select health from waypost.health where destination = $1',
    [destination],
  );
  return row && (JSON.parse(row.health) as Health);
}
