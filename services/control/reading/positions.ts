import { type Range } from '../../../shared/kafka/port';
import { databaseJson, type Queries } from '../history/database';

/** Stores how far each reader has read its topic. */

export interface Position {
  partition: number;
  /** the next offset to read */
  next: number;
  /** records appended earlier were not read, ms since 1970 */
  sinceMs: number;
  /** records appended up to this time were read, ms since 1970 */
  readMs: number;
}

export interface Move extends Pick<Position, 'partition' | 'readMs'> {
  from: number;
  to: number;
}

/** Returns the positions of a reader, by partition. */
export async function readPositions(
  { query }: Queries,
  reader: string,
): Promise<Map<number, Position>> {
  const rows = await query<{ partition: number; next: number; since_ms: number; read_ms: number }>(
    'select partition, next, since_ms, read_ms from waypost.positions where reader = $1',
    [reader],
  );
  return new Map(
    rows.map(({ partition, next, since_ms: sinceMs, read_ms: readMs }) => [
      partition,
      { partition, next, sinceMs, readMs },
    ]),
  );
}

/** Stores positions for partitions that have none. */
export async function beginPositions(
  { query }: Queries,
  reader: string,
  positions: readonly Position[],
): Promise<void> {
  await query(
    `insert into waypost.positions (reader, partition, next, since_ms, read_ms)
     select $1, partition, next, "sinceMs", "readMs"
     from jsonb_to_recordset($2::jsonb) as given(partition int, next bigint, "sinceMs" bigint, "readMs" bigint)
     on conflict (reader, partition) do nothing`,
    [reader, databaseJson(positions)],
  );
}

/**
 * Moves positions. @returns false if a stored position differs from `from`; then the caller must
 * write nothing
 */
export async function movePositions(
  { query }: Queries,
  reader: string,
  moves: readonly Move[],
): Promise<boolean> {
  // Locked in one order, so that two processes never wait for each other.
  const rows = await query<{ partition: number; next: number }>(
    `select partition, next from waypost.positions
     where reader = $1 and partition in (select partition from jsonb_to_recordset($2::jsonb) as given(partition int))
     order by partition for update`,
    [reader, databaseJson(moves)],
  );
  const stored = new Map(rows.map(({ partition, next }) => [partition, next]));
  if (moves.some(({ partition, from }) => stored.get(partition) !== from)) return false;
  await query(
    `update waypost.positions set next = given."to", read_ms = given."readMs"
     from jsonb_to_recordset($2::jsonb) as given(partition int, "to" bigint, "readMs" bigint)
     where reader = $1 and waypost.positions.partition = given.partition`,
    [reader, databaseJson(moves)],
  );
  return true;
}

/** Returns whether a reader has read everything before these ends, whichever process did. */
export async function hasReadTo(
  queries: Queries,
  reader: string,
  ends: readonly Range[],
): Promise<boolean> {
  const positions = await readPositions(queries, reader);
  return ends.every(
    ({ partition, low, high }) => high <= low || (positions.get(partition)?.next ?? 0) >= high,
  );
}
