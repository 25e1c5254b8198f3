import { defined } from '../../../shared/collections/defined';
import { isActive, type Job, type JobResults } from './job';
import { type KnownDelivery } from './candidates';
import { databaseJson, type Database, type Row } from '../history/database';
import { type DeliveryStatus, OPEN_STATUSES } from '../../../shared/model/reasons';
import { type Lease, NOW_MS } from '../history/leases';
import { type Cursor } from '../history/newest';
import { lastReplay, type Try } from '../history/tries';

/**
 * Stores replays, and finds the deliveries they need.
 *
 * Invariant: only its owner writes a job. Only `cancelJob` and `resumeJob` change the status of a
 * job that another process may own, and both are conditional.
 */

/** SQL: statuses that are not final. */
const UNDER_WAY = OPEN_STATUSES.map((status) => `'${status}'`).join(', ');
const ACTIVE = `status in ('counting', 'running')`;
/** SQL: the job has no owner, or its lease ran out. */
const FREE = `(owner is null or lease_until < ${NOW_MS})`;

export async function addJob(database: Database, job: Job, { owner, forMs }: Lease): Promise<void> {
  await database.query(
    'insert into waypost.replays (id, at, job, owner, lease_until) values ($1, $2, $3, $4, ' +
      `${NOW_MS} + $5::bigint)`,
    [job.id, job.createdAt, databaseJson(job), owner, forMs],
  );
}

/**
 * Saves a job and renews its lease; releases a job that has ended.
 * @returns `cancelled` if another process has cancelled it: the progress is saved, the status
 *   stays; `lost` if another process owns it: nothing is saved
 */
export async function saveJob(
  database: Database,
  job: Job,
  { owner, forMs }: Lease,
): Promise<'saved' | 'cancelled' | 'lost'> {
  const saved = await database.query(
    `update waypost.replays set job = $2,
       owner = case when $3::boolean then owner end,
       lease_until = case when $3::boolean then ${NOW_MS} + $5::bigint else 0 end
     where id = $1 and owner = $4 and ${ACTIVE} returning id`,
    [job.id, databaseJson(job), isActive(job), owner, forMs],
  );
  if (saved.length > 0) return 'saved';
  const cancelled = await database.query(
    `update waypost.replays set job = $2, owner = null, lease_until = 0
     where id = $1 and owner = $3 and status = 'cancelled' returning id`,
    [job.id, databaseJson({ ...job, status: 'cancelled' }), owner],
  );
  return cancelled.length > 0 ? 'cancelled' : 'lost';
}

/** @returns its status; undefined if another process owns it */
export async function renewJob(
  database: Database,
  id: string,
  { owner, forMs }: Lease,
): Promise<Job['status'] | undefined> {
  const [row] = await database.query<{ status: Job['status'] }>(
    `update waypost.replays set lease_until = ${NOW_MS} + $3::bigint where id = $1 and ` +
      'owner = $2 returning status',
    [id, owner, forMs],
  );
  return row?.status;
}

/**
 * Takes over jobs without a living owner, the oldest first. An embedded database has one process,
 * so any other owner has ended.
 */
export async function claimJobs(
  database: Database,
  limit: number,
  { owner, forMs }: Lease,
): Promise<Job[]> {
  const rows = await database.query(
    `update waypost.replays set owner = $1, lease_until = ${NOW_MS} + $2::bigint
     where id in (
       select id from waypost.replays
       where ${ACTIVE} and (
         lease_until < ${NOW_MS}
         or ($3::boolean and owner is distinct from $1))
       order by at limit $4::int for update skip locked)
     returning job`,
    [owner, forMs, database.kind === 'embedded', limit],
  );
  return rows.map(fromRow);
}

/** Releases a job, so that the next process need not wait for the lease. */
export async function releaseJob(database: Database, id: string, owner: string): Promise<void> {
  await database.query(
    'update waypost.replays set owner = null, lease_until = 0 where id = $1 and owner = $2',
    [id, owner],
  );
}

/** @returns false if it was not under way */
export async function cancelJob(database: Database, id: string): Promise<boolean> {
  const rows = await database.query(
    `update waypost.replays set job = jsonb_set(job::jsonb, '{status}', '"cancelled"')::text
     where id = $1 and ${ACTIVE} returning id`,
    [id],
  );
  return rows.length > 0;
}

/** Returns whether no process can be sending it. */
export async function isFree(database: Database, id: string): Promise<boolean> {
  const rows = await database.query(`select 1 from waypost.replays where id = $1 and ${FREE}`, [
    id,
  ]);
  return rows.length > 0;
}

/**
 * Restarts a job that was cancelled or failed.
 * @returns false if it has another status, or its last owner may still be sending
 */
export async function resumeJob(
  database: Database,
  job: Job,
  { owner, forMs }: Lease,
): Promise<boolean> {
  const rows = await database.query(
    `update waypost.replays set job = $2, owner = $3, lease_until = ${NOW_MS} + $4::bigint
     where id = $1 and status in ('cancelled', 'failed') and ${FREE} returning id`,
    [job.id, databaseJson(job), owner, forMs],
  );
  return rows.length > 0;
}

export async function getJob(database: Database, id: string): Promise<Job | undefined> {
  const [row] = await database.query('select job from waypost.replays where id = $1', [id]);
  return row && fromRow(row);
}

/** Lists the newest first. */
export async function listJobs(
  database: Database,
  page: { limit: number; after?: Cursor | undefined },
): Promise<{ rows: Job[] }> {
  const rows = await database.query(
    `select job from waypost.replays
     where not preview and ($1::bigint is null or (at, id) < ($1::bigint, $2::text))
     order by at desc, id desc limit $3::int`,
    [page.after?.at ?? null, page.after?.id ?? null, page.limit],
  );
  return { rows: rows.map(fromRow) };
}

/** Stores results that change no more, unless the job was resumed. */
export async function saveResults(
  database: Database,
  id: string,
  results: JobResults,
): Promise<void> {
  await database.query(
    `update waypost.replays set job = jsonb_set(job::jsonb, '{results}', $2::jsonb)::text
     where id = $1 and not ${ACTIVE}`,
    [id, databaseJson(results)],
  );
}

interface CountedResults extends Row, Omit<JobResults, 'superseded'> {
  /** that name it as their last job */
  named: number;
  cancelled: number;
  /** that have ended */
  settled: number;
}

const IS_DELIVERED = `status in ('delivered', 'partly_delivered') and job_result is null`;

/**
 * Returns the results of jobs by the history, which names the last job of each delivery. A delivery
 * that waits after an attempt has failed again.
 */
export async function resultsOf(
  database: Database,
  ids: readonly string[],
): Promise<Map<string, CountedResults>> {
  if (ids.length === 0) return new Map();
  const rows = await database.query<CountedResults & { job: string }>(
    `select job, count(*)::bigint as named,
       count(*) filter (where ${IS_DELIVERED})::bigint as delivered,
       count(*) filter (where job_result = 'failed' or status = 'dead')::bigint as "failedAgain",
       count(*) filter (where job_result = 'failed' or ${IS_DELIVERED})::bigint as attempted,
       count(*) filter (where status = 'held' and job_result is null)::bigint as held,
       count(*) filter (where status = 'cancelled')::bigint as cancelled,
       count(*) filter (
         where status in ('dead', 'cancelled')
           or (job_result is null and status not in (${UNDER_WAY}))
       )::bigint as settled
     from waypost.deliveries where job in (select jsonb_array_elements_text($1::jsonb)) group by 1`,
    [databaseJson(ids)],
  );
  return new Map(rows.map(({ job, ...counted }) => [job, counted]));
}

/** Returns the status and replay number of these deliveries, and on request their attempts. */
export async function knownOf(
  database: Database,
  ids: readonly string[],
  { withTries = false } = {},
): Promise<Map<string, KnownDelivery>> {
  if (ids.length === 0) return new Map();
  const rows = await database.query<{
    id: string;
    status: DeliveryStatus;
    reason: string | null;
    replay: number;
    tries: string | null;
  }>(
    `select id, status, reason, replay,
       case when $2::boolean or status in ('delivered', 'partly_delivered') then tries end as tries
     from waypost.deliveries
     where id in (select jsonb_array_elements_text($1::jsonb))`,
    [databaseJson(ids), withTries],
  );
  return new Map(
    rows.map(({ id, status, reason, replay, tries: stored }) => {
      const tries = stored === null ? [] : (JSON.parse(stored) as Try[]);
      const last = tries.length > 0 ? lastReplay({ replay, tries }) : replay;
      return [
        id,
        {
          status,
          reason,
          replay: last,
          ...defined({ tries: withTries ? tries : undefined }),
        },
      ];
    }),
  );
}

function fromRow({ job }: Row): Job {
  return JSON.parse(job as string) as Job;
}
