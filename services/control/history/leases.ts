import { type Database, type Queries } from './database';

/**
 * A lease chooses the one control process that may do a job. It uses the clock of the database, so
 * the clocks of processes may differ.
 */

/** SQL: the time now, ms since 1970, also within a long transaction. */
export const NOW_MS = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

export interface Lease {
  /** names the process; new with each start */
  owner: string;
  forMs: number;
}

/**
 * Takes or renews a lease. An embedded database has one process, so any other owner has ended.
 * @returns whether the owner holds it until `forMs` from now
 */
export async function takeLease(
  database: Queries,
  name: string,
  { owner, forMs }: Lease,
): Promise<boolean> {
  if (database.kind === 'embedded') return true;
  const rows = await database.query(
    `insert into waypost.leases as held (name, owner, until) values ($1, $2, ${NOW_MS} + $3::bigint)
     on conflict (name) do update set owner = excluded.owner, until = excluded.until
       where held.owner = excluded.owner or held.until < ${NOW_MS}
     returning name`,
    [name, owner, forMs],
  );
  return rows.length > 0;
}

/** Ends a lease early, so that the next process need not wait. */
export async function dropLease(database: Database, name: string, owner: string): Promise<void> {
  await database.query('delete from waypost.leases where name = $1 and owner = $2', [name, owner]);
}
