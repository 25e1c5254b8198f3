import { type CircuitEvent, type DeliveryEvent } from '../../../shared/model/attempt-events';
import { COLUMN_TYPES, COLUMN_UPDATES, COLUMNS, fromColumns, toColumns, toCopy } from './row-codec';
import {
  databaseJson,
  type Queries,
  type Row,
  type Transaction,
  WAIT_AS_USUAL,
  WAIT_BRIEFLY,
} from './database';
import { applyEvent, type DeliveryRow } from './delivery-row';
import {
  attachAnew,
  indexing,
  spareStatistics,
  newPart,
  type TablePartition,
  partOf,
  tablesOf,
} from './table-partitions';
import { CountSums, countsOf } from './minute-counts';
import { addCounts } from './stored-counts';
import { moveResponses, RESPONSE_COLUMNS, responseLine, type ResponseRow } from './responses';
import { closeAnswered, turnCircuits } from './circuits';
import { type Event } from './parse-events';
import { timeOf } from '../../../shared/model/time';

/**
 * Writes events of `attempts` in batches.
 *
 * The effect of an event is computed here, from the current row (delivery-row.ts), and not in SQL:
 * events come again after every crash, and must not change anything twice (but for ends without a
 * row, below). Most deliveries have one
 * event: COPY adds them without a look at the table, and takes all of them or none. If one exists
 * already, the batch is repeated with a look at each row.
 */

/** Rows updated in each partition that was written to, by its name. */
export type Touched = Map<string, number>;

/** Returns whether an event may be written. Of those that may not, only `cancelled` counts. */
export type Admit = (event: DeliveryEvent) => boolean;

/** What a transaction did, which holds once it is committed. */
export interface Recorded {
  made: TablePartition[];
  /** each update leaves an old version of the row behind */
  touched: Touched;
}

/** @param parts the known partitions */
export async function recordEvents(
  transaction: Transaction,
  events: readonly Event[],
  parts: readonly TablePartition[],
  admit: Admit = () => true,
): Promise<Recorded> {
  const byDelivery = new Map<string, DeliveryEvent[]>();
  const circuits: CircuitEvent[] = [];
  const cancelled: DeliveryEvent[] = [];
  for (const event of events) {
    if (event.kind === 'circuit') {
      circuits.push(event);
      continue;
    }
    if (!admit(event)) {
      if (event.kind === 'cancelled' && event.replay === 0) cancelled.push(event);
      continue;
    }
    const known = byDelivery.get(event.delivery);
    if (known) known.push(event);
    else byDelivery.set(event.delivery, [event]);
  }
  const deliveries = [...byDelivery.values()].sort(byTimeAndId);
  const write = async (unseen: boolean): Promise<Recorded> => {
    const { made, touched } = await makeParts(transaction, deliveries, parts);
    const counts = new CountSums();
    const known = await lockRows(transaction, unseen ? deliveries.filter(mayExist) : deliveries);
    for (const at of await writeRows(transaction, { deliveries, known }, counts)) {
      const name = partOf([...parts, ...made], at)?.name ?? '';
      touched.set(name, (touched.get(name) ?? 0) + 1);
    }
    // Delivery cancels what waited after its row went with the user: no row counts this end, or
    // tells that it was counted. If a crash repeats the event, it counts twice. A replay has
    // counted an end before.
    for (const event of cancelled) fold(undefined, [event], counts);
    await addCounts(transaction, counts);
    await turnCircuits(transaction, circuits);
    await closeAnswered(transaction, () => deliveries.flat());
    return { made, touched };
  };
  // One of the deliveries may exist already, or another process may add it after the look; then the
  // rest of the transaction must go on.
  for (const unseen of [true, false]) {
    await transaction.query('savepoint rows');
    try {
      const recorded = await write(unseen);
      await transaction.query('release savepoint rows');
      return recorded;
    } catch (error) {
      if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
      await transaction.query('rollback to savepoint rows');
    }
  }
  return write(false);
}

function byTimeAndId([one]: DeliveryEvent[], [other]: DeliveryEvent[]): number {
  if (!one || !other) return 0;
  return acceptedAtIn(one) - acceptedAtIn(other) || (one.delivery < other.delivery ? -1 : 1);
}

const UNIQUE_VIOLATION = '23505';

/** Returns false if the first of these events says that none came before it. */
function mayExist([event]: readonly DeliveryEvent[]): boolean {
  return !event || !isFirst(event);
}

/** @returns ms since 1970 */
export function acceptedAtIn({ acceptedAt }: DeliveryEvent): number {
  return timeOf(acceptedAt);
}

/** A dead letter follows its attempt, which may have been in the previous batch. */
function isFirst(event: DeliveryEvent): boolean {
  return (
    event.hop === 0 &&
    event.replay === 0 &&
    !('late' in event) &&
    (event.kind === 'attempt' || event.n === 0)
  );
}

/** Returns the row after the events of a delivery, and adds what they count. */
export function fold(
  before: DeliveryRow | undefined,
  events: readonly DeliveryEvent[],
  counts: CountSums,
): DeliveryRow | undefined {
  let row = before;
  for (const event of events) {
    const after = applyEvent(row, event);
    for (const count of countsOf(row, after)) counts.add(count);
    row = after;
  }
  return row;
}

async function copyLines(
  { copy }: Transaction,
  table: string,
  columns: string,
  lines: readonly string[],
): Promise<void> {
  if (lines.length > 0) await copy(table, columns, `${lines.join('\n')}\n`);
}

type RowsById = ReadonlyMap<string, DeliveryRow>;

/** Locks the rows that exist, in the order of `byTimeAndId`. */
async function lockRows({ query }: Queries, deliveries: DeliveryEvent[][]): Promise<RowsById> {
  if (deliveries.length === 0) return new Map();
  const keys = deliveries.flatMap(([event]) =>
    event ? [{ accepted_at: acceptedAtIn(event), id: event.delivery }] : [],
  );
  const found = await query(
    `select ${COLUMNS.replace(/\w+/g, 'd.$&')} from waypost.deliveries d
     join jsonb_to_recordset($1::jsonb) as k(accepted_at bigint, id text)
       on d.accepted_at = k.accepted_at and d.id = k.id
     order by d.accepted_at, d.id for update of d`,
    [databaseJson(keys)],
  );
  return new Map(found.map(fromColumns).map((row) => [row.id, row]));
}

/**
 * Adds and updates rows. All that exist are locked before the first is added, and both are done in
 * one order: so two processes with events of the same deliveries never wait for each other.
 * @returns the acceptance times of the updated rows
 * @throws `23505` if one of the deliveries exists already, or another process adds it now
 */
async function writeRows(
  transaction: Transaction,
  { deliveries, known }: { deliveries: DeliveryEvent[][]; known: RowsById },
  counts: CountSums,
): Promise<number[]> {
  const added: string[] = [];
  const updated: DeliveryRow[] = [];
  const responses: ResponseRow[] = [];
  const outdated: Omit<ResponseRow, 'text'>[] = [];
  for (const events of deliveries) {
    const before = known.get(events[0]?.delivery ?? '');
    const folded = fold(before, events, counts);
    if (!folded || folded === before) continue;
    const moved = moveResponses(before, folded);
    if (before) updated.push(moved.row);
    else added.push(toCopy(moved.row));
    responses.push(...moved.added);
    const { acceptedAt, id: delivery } = folded;
    outdated.push(...moved.removed.map((seq) => ({ acceptedAt, delivery, seq })));
  }
  await copyLines(transaction, 'waypost.deliveries', COLUMNS, added);
  if (updated.length > 0) {
    await transaction.query(
      `insert into waypost.deliveries (${COLUMNS})
       select ${COLUMNS} from jsonb_to_recordset($1::jsonb) as given(${COLUMN_TYPES})
       on conflict (accepted_at, id) do update set ${COLUMN_UPDATES}`,
      [databaseJson(updated.map(toColumns))],
    );
  }
  await removeResponses(transaction, outdated);
  await copyLines(transaction, 'waypost.responses', RESPONSE_COLUMNS, responses.map(responseLine));
  return updated.map(({ acceptedAt }) => acceptedAt);
}

async function removeResponses(
  { query }: Queries,
  outdated: readonly Omit<ResponseRow, 'text'>[],
): Promise<void> {
  if (outdated.length === 0) return;
  await query(
    `delete from waypost.responses r
     using jsonb_to_recordset($1::jsonb) as o("acceptedAt" bigint, delivery text, seq int)
     where r.accepted_at = o."acceptedAt" and r.delivery = o.delivery and r.seq = o.seq`,
    [databaseJson(outdated)],
  );
}

async function makeParts(
  transaction: Transaction,
  deliveries: DeliveryEvent[][],
  parts: readonly TablePartition[],
): Promise<{ made: TablePartition[]; touched: Touched }> {
  const made: TablePartition[] = [];
  const touched: Touched = new Map();
  let all = parts;
  let last: TablePartition | undefined;
  for (const [event] of deliveries) {
    const at = event ? acceptedAtIn(event) : NaN;
    // Most events belong to the same partition as the event before.
    if (Number.isNaN(at) || (last && partOf([last], at))) continue;
    last = partOf(all, at);
    if (last) touched.set(last.name, 0);
    if (last) continue;
    const part = newPart(all, at);
    await makePart(transaction, part);
    made.push(part);
    touched.set(part.name, 0);
    [last, all] = [part, [...parts, ...made]];
  }
  return { made, touched };
}

async function makePart({ kind, query }: Transaction, part: TablePartition): Promise<void> {
  const { name, from, to } = part;
  await query(WAIT_BRIEFLY);
  // The partition before it may have ended early.
  const ended = await query<TablePartition & Row>(
    `update waypost.parts set bound_ms = to_ms
     where from_ms < $2::bigint and bound_ms > $1::bigint and to_ms < bound_ms
     returning name, from_ms as "from", to_ms as "to"`,
    [from, to],
  );
  for (const sql of ended.flatMap(attachAnew)) await query(sql);
  for (const [table, each] of Object.entries(tablesOf(name))) {
    // Others read the whole table meanwhile, unlike with `create table … partition of`.
    await query(`create table waypost.${each} (like waypost.${table})`);
    await query(
      `alter table waypost.${table} attach partition waypost.${each}
       for values from (${String(from)}) to (${String(to)})`,
    );
  }
  await query(
    'insert into waypost.parts (name, from_ms, to_ms, bound_ms) values ($1, $2, $3, $3)',
    [name, from, to],
  );
  for (const sql of spareStatistics(name)) await query(sql);
  if (kind === 'server') for (const sql of indexing(name)) await query(sql);
  await query(WAIT_AS_USUAL);
}

export function readParts({ query }: Queries): Promise<TablePartition[]> {
  return query<TablePartition & Row>(
    'select name, from_ms as "from", to_ms as "to" from waypost.parts',
  );
}
