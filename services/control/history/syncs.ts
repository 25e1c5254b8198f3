import { databaseJson, type Database, type Row } from './database';
import { type Cursor } from './newest';

/**
 * Stores the syncs of audiences and computed traits: every step for a day, then one row for each
 * hour.
 */

export interface SyncRow {
  definition: string;
  /** start of the step, ms since 1970; identifies the row */
  bucket: number;
  /** time of the last sync in the step, ms since 1970 */
  at: number;
  /** time of the report, ms since 1970: the latest one wins */
  said: number;
  members: number;
  looked: number;
  /** as its processes counted; one that ended in between did not report its part */
  changed: number;
  /** of all syncs until then */
  sent: number;
  waiting: number;
}

const HOUR_MS = 3_600_000;
const EACH_FOR_MS = 24 * HOUR_MS;
/** A minimum; the history's retention may be longer. */
const KEPT_MS = 90 * EACH_FOR_MS;
/** More points cannot be distinguished in a chart. */
const MAX_POINTS = 300;

/** Returns the time before which there is one row for each hour. */
export function thinnedBefore(nowMs: number): number {
  return Math.floor((nowMs - EACH_FOR_MS) / HOUR_MS) * HOUR_MS;
}

/**
 * Upserts rows, in a fixed order, so that two processes cannot deadlock; repeated rows change
 * nothing. For the same step, counts take the larger value, and sizes the later report.
 */
export async function saveSyncs(database: Database, rows: readonly SyncRow[]): Promise<void> {
  const later = ['members', 'sent', 'waiting'].map(
    (name) =>
      `${name} = case when excluded.said >= waypost.syncs.said then excluded.${name} else ` +
      `waypost.syncs.${name} end`,
  );
  const greater = ['at', 'said', 'looked', 'changed'].map(
    (name) => `${name} = greatest(waypost.syncs.${name}, excluded.${name})`,
  );
  await database.query(
    `insert into waypost.syncs
       (definition, thinned, bucket, at, said, members, looked, changed, sent, waiting)
     select definition, false, bucket, at, said, members, looked, changed, sent, waiting
     from jsonb_to_recordset($1::jsonb) as given(definition text, bucket bigint, at bigint,
       said bigint, members bigint, looked bigint, changed bigint, sent bigint, waiting bigint)
     order by definition, bucket
     on conflict (definition, thinned, bucket) do update set ${[...later, ...greater].join(', ')}`,
    [databaseJson(rows)],
  );
}

/**
 * Thins rows older than a day, and drops expired ones. @param sinceMs the history keeps rows from
 * this time on
 */
export async function thinSyncs(database: Database, nowMs: number, sinceMs: number): Promise<void> {
  const last = (name: string) => `(array_agg(${name} order by bucket desc))[1]`;
  await database.query(
    `with each as (delete from waypost.syncs where bucket < $1 and not thinned returning *)
     insert into waypost.syncs
       (definition, thinned, bucket, at, said, members, looked, changed, sent, waiting)
     select definition, true, bucket / ${HOUR_MS} * ${HOUR_MS}, max(at), max(said),
       ${last('members')}, sum(looked)::bigint, sum(changed)::bigint, ${last('sent')},
       ${last('waiting')}
     from each group by 1, 3 on conflict do nothing`,
    [thinnedBefore(nowMs)],
  );
  await database.query('delete from waypost.syncs where bucket < $1', [
    Math.min(sinceMs, nowMs - KEPT_MS),
  ]);
}

/**
 * Lists the newest first. What a sync changed is the growth of the total since the row before, so
 * that the changes of all rows add up to what was sent.
 * @param page.after its time is the bucket of the last row of the previous page
 */
export async function listSyncs(
  database: Database,
  definition: string,
  page: { limit: number; after?: Cursor | undefined },
): Promise<{ rows: Omit<SyncRow, 'definition' | 'said'>[] }> {
  const rows = await database.query<Omit<SyncRow, 'definition' | 'said'> & Row>(
    `select bucket, at, members, looked,
       greatest(0, coalesce(
         sent + waiting - lead(sent + waiting) over (order by bucket desc), changed
       )) as changed,
       sent, waiting
     from waypost.syncs
     where definition = $1 and ($2::bigint is null or bucket < $2::bigint)
     order by bucket desc limit $3::int`,
    [definition, page.after?.at ?? null, page.limit],
  );
  return { rows };
}

/** Returns points for a chart, the oldest first: the last row of each step of time. */
export async function sizesOf(
  database: Database,
  definition: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<{ at: number; members: number }[]> {
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / MAX_POINTS));
  return database.query(
    `select max(at) as at, (array_agg(members order by bucket desc))[1] as members
     from waypost.syncs
     where definition = $1 and at >= $2 and at <= $3
     group by (bucket - $2::bigint) / $4::bigint order by 1`,
    [definition, fromMs, toMs, stepMs],
  );
}
