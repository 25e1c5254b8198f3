import { type CircuitEvent, type DeliveryEvent } from '../../../shared/domain/attempt';
import { COLUMN_TYPES, COLUMN_UPDATES, COLUMNS, databaseJson, fromColumns, toColumns } from './columns';
import { type Database, type Queries } from './database';
import { type Evidence, evidenceOf } from '../alerts/evidence';
import { addToHealth, savePositions } from './alerts';
import { applyEvent, type DeliveryRow } from './delivery-row';
import { newPart, type Part, partOf } from './parts';
import { type Count, countsOf, sumCounts } from './tally';

/**
 * Writes events of `attempts` down, many at once.
 *
 * What an event does is decided here, from the row as it stands (delivery-row.ts), not in SQL: events come again after
 * every crash, and what they changed then must not change twice. Most deliveries have one event: they are inserted
 * unseen, and read only where that finds them there already.
 */

/** What the events change beside the rows. */
interface Learned {
  counts: Count[];
  evidence: Evidence[];
}

/**
 * @param parts as known so far; what is made here is added
 * @param positions where the topic is to be read on, by partition
 */
export async function recordEvents(
  database: Database,
  events: readonly (DeliveryEvent | CircuitEvent)[],
  parts: Part[],
  positions: ReadonlyMap<number, number> = new Map(),
): Promise<void> {
  const byDelivery = new Map<string, DeliveryEvent[]>();
  for (const event of events) {
    if (event.kind === 'circuit') continue;
    const known = byDelivery.get(event.delivery);
    if (known) known.push(event);
    else byDelivery.set(event.delivery, [event]);
  }
  const made: Part[] = [];
  await database.transaction(async (queries) => {
    made.push(...(await makeParts(queries, [...byDelivery.values()], parts)));
    const learned: Learned = { counts: [], evidence: [] };
    const [first, later] = split([...byDelivery.values()]);
    const seen = await insertFirst(queries, first, learned);
    await change(queries, [...later, ...seen], learned);
    await addCounts(queries, sumCounts(learned.counts));
    await addToHealth(queries, learned.evidence);
    await savePositions(queries, positions);
    await turnCircuits(
      queries,
      events.filter((event) => event.kind === 'circuit'),
    );
  });
  parts.push(...made);
}

/** Deliveries whose first event says that it is their first of all, and the others. */
function split(deliveries: DeliveryEvent[][]): [first: DeliveryEvent[][], later: DeliveryEvent[][]] {
  const isFirst = ([event]: DeliveryEvent[]) =>
    event !== undefined && event.hop === 0 && event.replay === 0 && !('late' in event);
  return [deliveries.filter(isFirst), deliveries.filter((events) => !isFirst(events))];
}

function fold(before: DeliveryRow | undefined, events: DeliveryEvent[], learned: Learned): DeliveryRow | undefined {
  let row = before;
  for (const event of events) {
    const after = applyEvent(row, event);
    learned.counts.push(...countsOf(row, after));
    learned.evidence.push(...evidenceOf(row, after));
    row = after;
  }
  return row;
}

/** @returns those that were there already: nothing was written of them */
async function insertFirst({ query }: Queries, deliveries: DeliveryEvent[][], learned: Learned) {
  if (deliveries.length === 0) return [];
  const folded = deliveries.map((events) => {
    const own: Learned = { counts: [], evidence: [] };
    return { events, own, row: fold(undefined, events, own) };
  });
  const given = databaseJson(folded.flatMap(({ row }) => (row ? [toColumns(row)] : [])));
  const inserted = await query<{ id: string }>(
    `insert into waypost.deliveries (${COLUMNS})
     select ${COLUMNS} from jsonb_to_recordset($1::jsonb) as given(${COLUMN_TYPES})
     on conflict (accepted_at, id) do nothing returning id`,
    [given],
  );
  const fresh = new Set(inserted.map(({ id }) => id));
  for (const { row, own } of folded) {
    if (!row || !fresh.has(row.id)) continue;
    learned.counts.push(...own.counts);
    learned.evidence.push(...own.evidence);
  }
  return folded.filter(({ row }) => row && !fresh.has(row.id)).map(({ events }) => events);
}

async function change({ query }: Queries, deliveries: DeliveryEvent[][], learned: Learned): Promise<void> {
  if (deliveries.length === 0) return;
  const keys = deliveries.flatMap(([event]) =>
    event ? [{ accepted_at: Date.parse(event.acceptedAt), id: event.delivery }] : [],
  );
  const found = await query(
    `select ${COLUMNS.replace(/\w+/g, 'd.$&')} from waypost.deliveries d
     join jsonb_to_recordset($1::jsonb) as k(accepted_at bigint, id text) on d.accepted_at = k.accepted_at and d.id = k.id
     for update of d`,
    [databaseJson(keys)],
  );
  const known = new Map(found.map(fromColumns).map((row) => [row.id, row]));
  const rows = deliveries.flatMap((events) => {
    const before = known.get(events[0]?.delivery ?? '');
    const row = fold(before, events, learned);
    return row && row !== before ? [toColumns(row)] : [];
  });
  if (rows.length === 0) return;
  await query(
    `insert into waypost.deliveries (${COLUMNS})
     select ${COLUMNS} from jsonb_to_recordset($1::jsonb) as given(${COLUMN_TYPES})
     on conflict (accepted_at, id) do update set ${COLUMN_UPDATES}`,
    [databaseJson(rows)],
  );
}

async function makeParts({ query }: Queries, deliveries: DeliveryEvent[][], parts: readonly Part[]): Promise<Part[]> {
  const made: Part[] = [];
  for (const [event] of deliveries) {
    const at = event ? Date.parse(event.acceptedAt) : NaN;
    if (Number.isNaN(at) || partOf([...parts, ...made], at)) continue;
    const part = newPart([...parts, ...made], at);
    await query(
      `create table waypost.${part.name} partition of waypost.deliveries for values from (${part.from}) to (${part.to})`,
    );
    await query('insert into waypost.parts (name, from_ms, to_ms) values ($1, $2, $3)', [
      part.name,
      part.from,
      part.to,
    ]);
    made.push(part);
  }
  return made;
}

async function addCounts({ query }: Queries, counts: Count[]): Promise<void> {
  if (counts.length === 0) return;
  await query(
    `insert into waypost.counts (minute, destination, what, count)
     select minute, destination, what, count
     from jsonb_to_recordset($1::jsonb) as given(minute bigint, destination text, what text, count bigint)
     on conflict (minute, destination, what) do update set count = waypost.counts.count + excluded.count`,
    [databaseJson(counts)],
  );
}

/** The last turn of each URL. Delivery processes have circuits of their own: the newest word counts. */
async function turnCircuits({ query }: Queries, events: CircuitEvent[]): Promise<void> {
  const last = new Map<string, object>();
  for (const { destination, url, origin, state, why, at } of events) {
    last.set(`${destination}/${url}`, { destination, url, origin, state, why, at: Date.parse(at) });
  }
  if (last.size === 0) return;
  await query(
    `insert into waypost.circuits (destination, url, origin, state, why, at)
     select destination, url, origin, state, why, at from jsonb_to_recordset($1::jsonb)
       as given(destination text, url text, origin text, state text, why text, at bigint)
     on conflict (destination, url) do update
       set origin = excluded.origin, state = excluded.state, why = excluded.why, at = excluded.at
     where waypost.circuits.at <= excluded.at`,
    [databaseJson([...last.values()])],
  );
}

/** The parts that there are. */
export async function readParts({ query }: Queries): Promise<Part[]> {
  const rows = await query<{ name: string; from_ms: number; to_ms: number }>('select * from waypost.parts');
  return rows.map(({ name, from_ms: from, to_ms: to }) => ({ name, from, to }));
}
