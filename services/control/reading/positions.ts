import { type Range } from '../../../shared/kafka/port';
import { type Mark } from '../../../shared/kafka/record-name';
import { databaseJson, type Queries } from '../history/database';

/** Stores how far each reader has read its topic. */

export interface Position {
  partition: number;
  /** the next offset to read */
  next: number;
  /** the last record that was read; null: none before `next` */
  last: Mark | null;
  /** records appended earlier were not read, ms since 1970 */
  sinceMs: number;
  /** records appended up to this time were read, ms since 1970 */
  readMs: number;
}

export interface Move extends Pick<Position, 'partition' | 'readMs'> {
  from: Pick<Position, 'next' | 'last'>;
  to: Pick<Position, 'next' | 'last'>;
}

export async function readPositions(
  { query }: Queries,
  reader: string,
): Promise<Map<number, Position>> {
  const rows = await query<Omit<Position, 'last'> & { last: string }>(
    `select partition, next, last, since_ms as "sinceMs", read_ms as "readMs"
     from waypost.positions where reader = $1`,
    [reader],
  );
  return new Map(
    rows.map(({ last, ...row }) => [
      row.partition,
      { ...row, last: JSON.parse(last) as Mark | null },
    ]),
  );
}

export async function beginPositions(
  { query }: Queries,
  reader: string,
  positions: readonly Position[],
): Promise<void> {
  await query(
    `insert into waypost.positions (reader, partition, next, last, since_ms, read_ms)
     select $1, partition, next, last, "sinceMs", "readMs"
     from jsonb_to_recordset($2::jsonb)
       as given(partition int, next bigint, last text, "sinceMs" bigint, "readMs" bigint)
     on conflict (reader, partition) do nothing`,
    [reader, databaseJson(positions.map((each) => ({ ...each, last: JSON.stringify(each.last) })))],
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
  const rows = await query<{ partition: number; next: number; last: string }>(
    `select partition, next, last from waypost.positions
     where reader = $1 and partition in (
       select partition from jsonb_to_recordset($2::jsonb) as given(partition int)
     )
     order by partition for update`,
    [reader, databaseJson(moves.map(({ partition }) => ({ partition })))],
  );
  const stored = new Map(rows.map((row) => [row.partition, row]));
  const isStored = ({ partition, from }: Move) => {
    const row = stored.get(partition);
    return row?.next === from.next && row.last === JSON.stringify(from.last);
  };
  if (!moves.every(isStored)) return false;
  const to = moves.map(({ partition, to: { next, last }, readMs }) => {
    return { partition, next, last: JSON.stringify(last), readMs };
  });
  await query(
    `update waypost.positions set next = given.next, last = given.last, read_ms = given."readMs"
     from jsonb_to_recordset($2::jsonb)
       as given(partition int, next bigint, last text, "readMs" bigint)
     where reader = $1 and waypost.positions.partition = given.partition`,
    [reader, databaseJson(to)],
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
