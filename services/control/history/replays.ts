import { type Job } from '../replays/job';
import { databaseJson } from './columns';
import { type Database, type Row } from './database';
import { type Status } from './delivery-row';

/** Replays in the database, and what they ask it. */

export async function saveJob(database: Database, job: Job): Promise<void> {
  await database.query(
    `insert into waypost.replays (id, at, job) values ($1, $2, $3)
     on conflict (id) do update set job = excluded.job`,
    [job.id, job.createdAt, databaseJson(job)],
  );
}

export async function getJob(database: Database, id: string): Promise<Job | undefined> {
  const [row] = await database.query('select job from waypost.replays where id = $1', [id]);
  return row && fromRow(row);
}

/** The newest first. */
export async function listJobs(
  database: Database,
  page: { limit: number; after?: { at: number; id: string } | undefined },
): Promise<Job[]> {
  const rows = await database.query(
    `select job from waypost.replays where ($1::bigint is null or (at, id) < ($1::bigint, $2::text))
     order by at desc, id desc limit $3::int`,
    [page.after?.at ?? null, page.after?.id ?? null, page.limit],
  );
  return rows.map(fromRow);
}

/** Jobs that a process before this one has not ended. */
export async function unfinishedJobs(database: Database): Promise<Job[]> {
  const rows = await database.query(
    `select job from waypost.replays where job::jsonb ->> 'status' in ('counting', 'running') order by at`,
  );
  return rows.map(fromRow);
}

/** What is known of these deliveries. */
export async function knownOf(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, { status: Status; replay: number }>> {
  if (ids.length === 0) return new Map();
  const rows = await database.query<{ id: string; status: Status; replay: number }>(
    `select id, status, replay from waypost.deliveries
     where id in (select jsonb_array_elements_text($1::jsonb))`,
    [databaseJson(ids)],
  );
  return new Map(rows.map(({ id, status, replay }) => [id, { status, replay }]));
}

function fromRow({ job }: Row): Job {
  return JSON.parse(job as string) as Job;
}
