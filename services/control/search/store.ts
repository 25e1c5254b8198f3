import { type Range } from '../../../shared/kafka/port';
import {
  databaseJson,
  type Database,
  type Queries,
  type Row,
  type Transaction,
} from '../history/database';
import { type Position } from '../reading/positions';
import { type PackedChunk } from './pack-texts';

/** Stores the chunks of searchable texts. */

export async function addChunks(
  { copy }: Transaction,
  chunks: readonly PackedChunk[],
): Promise<void> {
  if (chunks.length === 0) return;
  const lines = chunks.map(
    ({ from, to, raw, data }) => `${from}\t${to}\t${raw}\t${data.length}\t${data}\n`,
  );
  await copy('waypost.search_chunks', 'from_ms, to_ms, raw, bytes, data', lines.join(''));
}

/** @returns the number of chunks that were still there */
export async function deleteChunks({ query }: Queries, ids: readonly number[]): Promise<number> {
  const deleted = await query(
    'delete from waypost.search_chunks where seq in (select value::bigint from ' +
      'jsonb_array_elements_text($1::jsonb)) returning seq',
    [databaseJson(ids)],
  );
  return deleted.length;
}

export interface StoredChunk extends PackedChunk {
  seq: number;
}

const COLUMNS = 'seq, from_ms as "from", to_ms as "to", raw, data';

/** A chunk without its texts. */
export type ChunkSpan = Pick<StoredChunk, 'seq' | 'from' | 'to'>;

const NEWEST_FIRST = 'order by to_ms desc, seq desc';

/** Lists chunks of a time, those with the newest entries first. */
export async function listChunks(
  { query }: Queries,
  { since, until }: { since: number; until: number },
): Promise<ChunkSpan[]> {
  return query<ChunkSpan & Row>(
    `select seq, from_ms as "from", to_ms as "to" from waypost.search_chunks
     where to_ms >= $1::bigint and from_ms <= $2::bigint ${NEWEST_FIRST}`,
    [since, until],
  );
}

/** Reads chunks, as far as they are still there, those with the newest entries first. */
export async function readChunks(
  { query }: Queries,
  spans: readonly ChunkSpan[],
): Promise<StoredChunk[]> {
  return query<StoredChunk & Row>(
    `select ${COLUMNS} from waypost.search_chunks
     where seq in (select value::bigint from jsonb_array_elements_text($1::jsonb)) ${NEWEST_FIRST}`,
    [databaseJson(spans.map(({ seq }) => seq))],
  );
}

export async function chunksAfter(
  { query }: Queries,
  seq: number,
  limit: number,
): Promise<StoredChunk[]> {
  return query<StoredChunk & Row>(
    `select ${COLUMNS} from waypost.search_chunks
     where seq > $1::bigint order by seq limit $2::int`,
    [seq, limit],
  );
}

/** Lists chunks with less text than this, in the order of their numbers. */
export async function smallChunks(
  { query }: Queries,
  raw: number,
  limit: number,
): Promise<StoredChunk[]> {
  return query<StoredChunk & Row>(
    `select ${COLUMNS} from waypost.search_chunks where raw < $1::int order by seq limit $2::int`,
    [raw, limit],
  );
}

/** Deletes expired chunks, and the oldest ones beyond the size limit. */
export async function keepChunks(
  database: Database,
  { nowMs, retentionMs, maxBytes }: { nowMs: number; retentionMs: number; maxBytes: number },
): Promise<void> {
  const sinceMs = nowMs - retentionMs;
  await database.query('delete from waypost.search_chunks where to_ms < $1::bigint', [sinceMs]);
  const [dropped] = await database.query<{ to_ms: number | null }>(
    `with sized as (
         select seq, sum(bytes) over (order by to_ms desc, seq desc) as total
         from waypost.search_chunks
       ),
       gone as (
         delete from waypost.search_chunks
         where seq in (select seq from sized where total > $1::bigint) returning to_ms
       )
     select max(to_ms) as to_ms from gone`,
    [maxBytes],
  );
  const before = await markOf(database, 'search_from');
  const from = Math.max(before, sinceMs, (dropped?.to_ms ?? -1) + 1);
  // A clock that was ahead has dropped all up to now.
  await setMark(database, 'search_from', Math.min(from, nowMs));
}

/**
 * `search_from`: texts of deliveries accepted before were dropped; `search_purged`: the last
 * deletion that was purged
 */
type Mark = 'search_from' | 'search_purged';

export async function markOf({ query }: Queries, mark: Mark): Promise<number> {
  const [row] = await query<{ value: string }>('select value from waypost.meta where key = $1', [
    mark,
  ]);
  return Number(row?.value ?? 0);
}

export async function setMark({ query }: Queries, mark: Mark, value: number): Promise<void> {
  await query(
    'insert into waypost.meta values ($1, $2) on conflict (key) do update set value = ' +
      'excluded.value',
    [mark, String(value)],
  );
}

/** The time of acceptance that chunks cover, ms since 1970. */
export interface Coverage {
  from: number;
  to: number;
}

/**
 * Computes which deliveries can be found.
 * @param ends of the topic; undefined: unknown
 */
export function coverageOf(
  { positions, droppedTo }: { positions: readonly Position[]; droppedTo: number },
  ends: readonly Range[] | undefined,
  { nowMs, retentionMs }: { nowMs: number; retentionMs: number },
): Coverage {
  const next = new Map(positions.map((position) => [position.partition, position.next]));
  const behind = ends?.filter(
    ({ partition, low, high }) => high > low && (next.get(partition) ?? 0) < high,
  );
  const late = behind
    ? positions.filter(({ partition }) => behind.some((end) => end.partition === partition))
    : positions;
  const from = Math.max(nowMs - retentionMs, droppedTo, ...positions.map(({ sinceMs }) => sinceMs));
  if (positions.length === 0) return { from: nowMs, to: nowMs };
  return { from: Math.min(from, nowMs), to: Math.min(nowMs, ...late.map(({ readMs }) => readMs)) };
}
