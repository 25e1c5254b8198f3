import { type Database } from './database';
import { indexing } from './indexes';
import { type TablePartition, partsToDrop, partsToEnd, partsToIndex, type SizedPartition } from './table-partitions';
import { readParts } from './record-events';
import { shortenIds } from './stored-user-id';

/** Keeps the history within its time and size limits. */

export interface Retention {
  /** ms */
  forMs: number;
  maxBytes: number;
}

/**
 * An update leaves the old version of the row behind. From this number on the partition is vacuumed (embedded only).
 */
const VACUUM_AFTER_ROWS = 20_000;

/** Work on a large partition may take longer than the statement timeout of queries. */
const UNHURRIED = 'set local statement_timeout = 0';

/** Deletions are needed as long as `attempts` may still contain records of their users. */
const DELETIONS_MS = 30 * 86_400_000;

/** Longer than a year, because questions about a change come late. */
const AUDIT_MS = 400 * 86_400_000;

/** Called for each partition or table that fails, so that the others continue. @param what the partition or table */
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
  const drop = partsToDrop(sized, { sinceMs, maxBytes: keep.maxBytes });
  for (const part of drop) await each(part.name, () => dropPart(database, part));
  const left = sized.filter((part) => !drop.includes(part));
  for (const part of partsToEnd(left, keep)) await each(part.name, () => endPart(database, part));
  for (const part of partsToIndex(left, { nowMs, written })) await each(part.name, () => indexPart(database, part));
  const old: Record<string, [where: string, beforeMs: number]> = {
    counts: ['minute < $1', sinceMs],
    deletions: ['at < $1', Math.min(sinceMs, nowMs - DELETIONS_MS)],
    audit: ['at < $1', nowMs - AUDIT_MS],
    notices: [`at < $1 and ended_at is not null and alert <> 'due'`, nowMs - AUDIT_MS],
    circuits: [`state = 'closed' and at < $1`, sinceMs],
  };
  for (const [table, [where, beforeMs]] of Object.entries(old)) {
    await each(table, () => database.query(`delete from waypost.${table} where ${where}`, [beforeMs]));
  }
  return readParts(database);
}

async function alone(what: string, work: () => Promise<unknown>, onFailure: OnFailure | undefined): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!onFailure) throw error;
    onFailure(what, error);
  }
}

async function dropPart(database: Database, { name }: SizedPartition): Promise<void> {
  await database.transaction(async ({ query }) => {
    await query(`drop table waypost.${name}`);
    await query('delete from waypost.parts where name = $1', [name]);
  });
}

/** Runs each statement in its own transaction, so that a concurrent query waits for one statement only. */
async function indexPart(database: Database, { name }: SizedPartition): Promise<void> {
  for (const sql of [shortenIds(name), ...indexing(name)]) {
    await database.transaction(async ({ query }) => {
      await query(UNHURRIED);
      await query(sql);
    });
  }
  await database.query(`vacuum analyze waypost.${name}`);
}

/** Ends the partition after its newest row. Deliveries accepted later go to another partition. */
async function endPart(database: Database, { name, from }: SizedPartition): Promise<void> {
  await database.transaction(async ({ query }) => {
    await query(UNHURRIED);
    await query(`alter table waypost.deliveries detach partition waypost.${name}`);
    const [row] = await query<{ last: number }>(`select max(accepted_at) as last from waypost.${name}`);
    const to = (row?.last ?? from) + 1;
    await query(`alter table waypost.deliveries attach partition waypost.${name} for values from (${from}) to (${to})`);
    await query('update waypost.parts set to_ms = $2 where name = $1', [name, to]);
  });
}

type Sized = Pick<SizedPartition, 'name' | 'bytes' | 'indexed'> & { from_ms: number; to_ms: number; row_bytes: number };

async function readSizes(database: Database): Promise<SizedPartition[]> {
  const rows = await database.query<Sized>(
    `select name, from_ms, to_ms, indexed, pg_total_relation_size(('waypost.' || name)::regclass) as bytes,
       pg_relation_size(('waypost.' || name)::regclass) as row_bytes from waypost.parts`,
  );
  return rows.map(({ from_ms: from, to_ms: to, row_bytes: rowBytes, ...part }) => ({ ...part, from, to, rowBytes }));
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
    await database.query(`vacuum analyze waypost.${name}`);
  }
  // The rows of these tables are updated all the time.
  for (const table of ['counts', 'health', 'positions', 'syncs'])
    await database.query(`vacuum analyze waypost.${table}`);
}
