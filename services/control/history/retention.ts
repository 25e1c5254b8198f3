import { dropVersions } from './destination-versions';
import { bytesForCounts, bytesOfCounts, keepCounts } from './stored-counts';
import { type Database, type Row, UNHURRIED, WAIT_BRIEFLY } from './database';
import {
  addEnd,
  checkEnd,
  indexing,
  type TablePartition,
  partsToDrop,
  partsToEnd,
  partsToIndex,
  tablesOf,
  type SizedPartition,
} from './table-partitions';
import { readParts } from './record-events';

/** Keeps the history within its time and size limits. */

export interface Retention {
  /** ms */
  forMs: number;
  maxBytes: number;
}

/**
 * An update leaves the old version of the row behind. From this number on the partition is vacuumed
 * (embedded only).
 */
const VACUUM_AFTER_ROWS = 20_000;

/** Longer than a year, because questions about a change come late. */
const AUDIT_MS = 400 * 86_400_000;

/** As long before its end as the certificate of a server is tracked (health/facts.ts). */
const FACTS_MS = 60 * 86_400_000;

/** Nobody lists a preview of a replay: it answers who asked for it. */
const PREVIEWS_MS = 86_400_000;
/**
 * A partition of a server that ends early still takes later rows for this time, so that writers go
 * on while its rows are checked. An embedded one ends at once: it must stay small until it is
 * indexed.
 */
const LATER_ROWS_MS = 300_000;

/**
 * Called for each partition or table that fails, so that the others continue. @param what the
 * partition or table
 */
export type OnFailure = (what: string, error: unknown) => void;

/**
 * Drops, ends and indexes partitions, and deletes old rows of the other tables.
 * @param options.written partitions written to since the last call
 * @param options.onFailure without it, the first failure is thrown
 * @returns the remaining partitions, as the database has them
 */
export async function keepWithin(
  database: Database,
  keep: Retention,
  nowMs: number,
  options: { written?: ReadonlyMap<string, number>; onFailure?: OnFailure } = {},
): Promise<TablePartition[]> {
  const { written = new Map<string, number>() } = options;
  const each = (what: string, work: () => Promise<unknown>) => alone(what, work, options.onFailure);
  const sized = await readSizes(database);
  const sinceMs = nowMs - keep.forMs;
  await each('counts', () => keepCounts(database, { sinceMs, maxBytes: keep.maxBytes }, nowMs));
  const countBytes = Math.min(await bytesOfCounts(database), bytesForCounts(keep.maxBytes));
  const drop = partsToDrop(sized, { sinceMs, maxBytes: keep.maxBytes - countBytes });
  for (const part of drop) await each(part.name, () => dropPart(database, part));
  const left = sized.filter((part) => !drop.includes(part));
  for (const { name } of partsToEnd(left, keep)) await each(name, () => endPart(database, name));
  for (const part of partsToIndex(left, { nowMs, written })) {
    await each(part.name, () => indexPart(database, part));
  }
  // Deletions stay, as a proof.
  const old: Record<string, [where: string, beforeMs: number]> = {
    audit: ['at < $1', nowMs - AUDIT_MS],
    notices: [`at < $1 and ended_at is not null and alert <> 'due'`, nowMs - AUDIT_MS],
    circuits: [`state = 'closed' and at < $1`, sinceMs],
    replays: [`status not in ('counting', 'running') and at < $1`, nowMs - AUDIT_MS],
    // A server that is still called is reported again.
    facts: ['at < $1', nowMs - FACTS_MS],
  };
  await each('previews', () =>
    database.query(
      `delete from waypost.replays
       where preview and status not in ('counting', 'running') and at < $1`,
      [nowMs - PREVIEWS_MS],
    ),
  );
  await each('destination_versions', () => dropVersions(database, sinceMs));
  for (const [table, [where, beforeMs]] of Object.entries(old)) {
    await each(table, () =>
      database.query(`delete from waypost.${table} where ${where}`, [beforeMs]),
    );
  }
  return readParts(database);
}

async function alone(
  what: string,
  work: () => Promise<unknown>,
  onFailure: OnFailure | undefined,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!onFailure) throw error;
    onFailure(what, error);
  }
}

async function dropPart(database: Database, { name }: SizedPartition): Promise<void> {
  await database.transaction(async ({ query }) => {
    await query(WAIT_BRIEFLY);
    const { deliveries, responses } = tablesOf(name);
    await query(`drop table waypost.${deliveries}, waypost.${responses}`);
    await query('delete from waypost.parts where name = $1', [name]);
  });
}

/**
 * Runs each statement in its own transaction, so that a concurrent query waits for one statement
 * only.
 */
async function indexPart(database: Database, { name }: SizedPartition): Promise<void> {
  for (const sql of indexing(name)) {
    await database.transaction(async ({ query }) => {
      await query(UNHURRIED);
      await query(sql);
    });
  }
  await vacuum(database, name);
}

async function vacuum(database: Database, part: string): Promise<void> {
  for (const table of Object.values(tablesOf(part))) {
    await database.query(`vacuum analyze waypost.${table}`);
  }
}

/** Ends a partition early: rows that are accepted later go to another one (table-partitions.ts). */
async function endPart(database: Database, name: string): Promise<void> {
  if (!(await setEnd(database, name))) return;
  for (const sql of checkEnd(name)) {
    await database.transaction(async ({ query }) => {
      await query(UNHURRIED);
      await query(sql);
    });
  }
}

/**
 * Sets the end of a partition, unless it has one.
 * @returns false if it ends as soon anyway, or another process has dropped it
 */
async function setEnd(database: Database, name: string): Promise<boolean> {
  return database.transaction(async ({ kind, query }) => {
    await query(WAIT_BRIEFLY);
    const [part] = await query<Omit<TablePartition, 'name'> & { bound: number }>(
      `select from_ms as "from", to_ms as "to", bound_ms as bound from waypost.parts
       where name = $1 for update`,
      [name],
    );
    if (!part) return false;
    const { from, to, bound } = part;
    if (to < bound) return true;
    const tables = Object.values(tablesOf(name)).map((table) => `waypost.${table}`);
    // A row that is written meanwhile could be later than the newest one.
    await query(`lock table ${tables.join(', ')} in access exclusive mode`);
    const [row] = await query<{ last: number | null }>(
      `select max(accepted_at) as last from waypost.${name}`,
    );
    const end = (row?.last ?? from) + 1 + (kind === 'server' ? LATER_ROWS_MS : 0);
    if (end >= to) return false;
    for (const sql of addEnd({ name, from, to: end })) await query(sql);
    await query('update waypost.parts set to_ms = $2 where name = $1', [name, end]);
    return true;
  });
}

/** `tablesOf(name).responses` in SQL. */
const RESPONSES_NAME = `replace(name, 'deliveries_', 'responses_')`;

function readSizes(database: Database): Promise<SizedPartition[]> {
  const bytesOf = (name: string) => `pg_total_relation_size(('waypost.' || ${name})::regclass)`;
  return database.query<SizedPartition & Row>(
    `select name, from_ms as "from", to_ms as "to", indexed, to_ms < bound_ms as "isEnding",
       ${bytesOf('name')} + ${bytesOf(RESPONSES_NAME)} as bytes,
       pg_relation_size(('waypost.' || name)::regclass) as "rowBytes" from waypost.parts`,
  );
}

/**
 * Vacuums and analyzes an embedded database. A server does both by itself.
 * @param changed rows of each partition that were updated or deleted since its last vacuum
 */
export async function cleanUp(
  database: Database,
  parts: readonly TablePartition[],
  changed: Map<string, number>,
): Promise<void> {
  if (database.kind !== 'embedded') return;
  const grown = parts.filter(({ name }) => (changed.get(name) ?? 0) >= VACUUM_AFTER_ROWS);
  for (const { name } of grown) {
    changed.delete(name);
    await vacuum(database, name);
  }
  // The rows of these tables are updated all the time.
  for (const table of ['counts', 'health', 'positions', 'syncs', 'search_chunks']) {
    await database.query(`vacuum analyze waypost.${table}`);
  }
}
