import { Pool, type PoolClient, type PoolConfig, Query, types } from 'pg';
import { type Database, type Param, type Queries, type Row, type Transaction } from './database';

/** The history in an external PostgreSQL (WAYPOST_DATABASE_URL). */

/** Queries of the API, which wait for a locked table, must leave connections to the readers. */
const QUERY_CONNECTIONS = 6;
const TRANSACTION_CONNECTIONS = 8;
const CONNECT_MS = 5_000;
/** A slower query no longer helps its caller, and holds a connection. */
const STATEMENT_MS = 30_000;
/** A server that stands still, or has vanished, ends no query: its connection is given up. */
const UNANSWERED_MS = STATEMENT_MS + 5_000;
/** Notices a server that has vanished while a transaction waits for it. */
const KEEP_ALIVE_MS = 10_000;

/** int8: counts and ms since 1970 are far below 2^53. */
const INT8 = types.builtins.INT8;
type Parser = (value: string) => unknown;

export async function openPostgres(url: string): Promise<Database> {
  const pool = openPool(url, { max: QUERY_CONNECTIONS, query_timeout: UNANSWERED_MS });
  // Work on a large partition has no limit (retention.ts).
  const transactions = openPool(url, { max: TRANSACTION_CONNECTIONS });
  const close = async () => {
    await Promise.all([pool.end(), transactions.end()]);
  };
  try {
    await pool.query('select 1');
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ...queriesOf(pool),
    broken: undefined,
    transaction: async (work) => {
      const client = await transactions.connect();
      // A checked-out client has no error listener, and an unhandled error would end the process.
      // The query rejects anyway.
      const ignore = () => undefined;
      client.on('error', ignore);
      try {
        return await inTransaction(client, work);
      } finally {
        client.off('error', ignore);
        client.release();
      }
    },
    close,
  };
}

function openPool(url: string, limits: Pick<PoolConfig, 'max' | 'query_timeout'>): Pool {
  const pool = new Pool({
    ...limits,
    connectionString: url,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: CONNECT_MS,
    statement_timeout: STATEMENT_MS,
    // A process that stands still in a transaction must not hold its locks.
    idle_in_transaction_session_timeout: STATEMENT_MS,
    application_name: 'waypost-control',
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8 ? Number : (types.getTypeParser(oid, format) as Parser),
    },
  });
  // The pool replaces a connection that breaks while idle. Without a listener the error would end
  // the process.
  pool.on('error', () => undefined);
  return pool;
}

async function inTransaction<T>(
  client: PoolClient,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  await client.query('begin');
  try {
    const result = await work({ ...queriesOf(client), copy: copyOn(client) });
    await client.query('commit');
    return result;
  } catch (error) {
    // If the connection is gone, so is the transaction.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

function queriesOf(on: Pool | PoolClient): Queries {
  return {
    kind: 'server',
    query: async <T extends Row>(sql: string, params: readonly Param[] = []) => {
      const { rows } = await on.query<T>(sql, [...params]);
      return rows;
    },
  };
}

function copyOn(client: PoolClient): Transaction['copy'] {
  return (table, columns, rows) =>
    new Promise((resolve, reject) => {
      const done = (error: Error | null | undefined) => (error ? reject(error) : resolve());
      client.query(new CopyIn(`copy ${table} (${columns}) from stdin`, Buffer.from(rows), done));
    });
}

/** Methods of a `pg` connection that its types omit. */
interface CopyConnection {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/**
 * COPY from memory: `pg` implements the protocol but no such query. (It uses the name `rows`
 * itself.)
 */
class CopyIn extends Query {
  constructor(
    sql: string,
    private readonly given: Buffer,
    done: (error: Error | null | undefined) => void,
  ) {
    super(sql);
    (this as unknown as { callback: typeof done }).callback = done;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.given);
    connection.endCopyFrom();
  }
}
