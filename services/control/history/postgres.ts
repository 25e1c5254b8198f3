import { Pool, type PoolClient, types } from 'pg';
import { type Database, type Param, type Queries, type Row } from './database';

/** The history in a PostgreSQL of one's own (WAYPOST_DATABASE_URL). */

/** One writes, the others answer people. */
const CONNECTIONS = 6;
const CONNECT_MS = 5_000;
/** A query that takes longer is of no use to who asked, and holds a connection. */
const STATEMENT_MS = 30_000;

/** int8: counts and ms since 1970 are far below 2^53. */
const INT8 = types.builtins.INT8;
type Parser = (value: string) => unknown;

export async function openPostgres(url: string): Promise<Database> {
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    application_name: 'waypost-control',
    types: {
      getTypeParser: (oid, format) => (oid === INT8 ? Number : (types.getTypeParser(oid, format) as Parser)),
    },
  });
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  try {
    await pool.query('select 1');
  } catch (error) {
    await pool.end();
    throw error;
  }
  return {
    kind: 'server',
    broken: undefined,
    query: queriesOf(pool).query,
    transaction: async (work) => {
      const client = await pool.connect();
      try {
        return await inTransaction(client, work);
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  };
}

async function inTransaction<T>(client: PoolClient, work: (queries: Queries) => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work(queriesOf(client));
    await client.query('commit');
    return result;
  } catch (error) {
    // Where the connection is gone, so is the transaction.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function queriesOf(on: Pool | PoolClient): Queries {
  return {
    query: async <T extends Row>(sql: string, params: readonly Param[] = []) => {
      const { rows } = await on.query<T>(sql, [...params]);
      return rows;
    },
  };
}
