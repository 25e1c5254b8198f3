import { AppError } from '../../../shared/service/errors';
import { type Database } from './database';
import { STEPS } from './migrations';

/** An advisory lock, which needs no table: if two processes start, only one creates the tables. */
const LOCK = 7_290_316;

/**
 * Migrates the tables.
 * @param upTo the version to migrate to, for tests with the data of older versions
 * @throws AppError `newer_format` if a newer Waypost created them
 */
export async function migrate(database: Database, upTo = STEPS.length): Promise<void> {
  await database.transaction(async ({ query }) => {
    await query(`select pg_advisory_xact_lock(${LOCK})`);
    await query('create schema if not exists waypost');
    await query(
      'create table if not exists waypost.meta (key text primary key, value text not null)',
    );
    const [row] = await query<{ value: string }>(
      `select value from waypost.meta where key = 'version'`,
    );
    const version = Number(row?.value ?? 0);
    if (version > STEPS.length) {
      throw new AppError(
        'newer_format',
        `the history's database was made by a newer Waypost (version ${version}; this one ` +
          `knows ${STEPS.length}): upgrade this process`,
      );
    }
    for (const step of STEPS.slice(version, upTo)) for (const sql of step) await query(sql);
    await query(
      "insert into waypost.meta values ('version', $1) on conflict (key) do update set " +
        'value = excluded.value',
      [String(upTo)],
    );
    // Identifies this database in the names of its consumer groups: the group of another database
    // has read records that this one lacks.
    await query(
      `insert into waypost.meta values ('id', gen_random_uuid()::text) on conflict (key) do nothing`,
    );
  });
}

/** Returns the id that the database got when it was created. */
export async function databaseId(database: Database): Promise<string> {
  const [row] = await database.query<{ value: string }>(
    `select value from waypost.meta where key = 'id'`,
  );
  return row?.value ?? '';
}
