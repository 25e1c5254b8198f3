import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Database } from '../../services/control/history/database';
import { databaseInThread } from '../../services/control/history/pglite';
import { migrate } from '../../services/control/history/schema';
import { tablesOf } from '../../services/control/history/table-partitions';
import { eventually, Final } from './eventually';
import { freePort } from './free-port';
import { endChild } from '../../dev/child-process';

/** Databases for tests: PostgreSQL in memory, and a PostgreSQL server. */

const READY_MS = 60_000;
/** An immediate shutdown of PostgreSQL waits for nothing. */
const STOP_MS = 30_000;

/** In place of SQL: writes all files of the database to an archive, whose path is the parameter. */
export const SAVE = 'save';

/**
 * Runs outside jest's module loader, which cannot load PGlite's parts. A test asks too little of
 * the database to pay for optimised code (quick-wasm.cjs).
 */
const IN_MEMORY = `
  const { readFileSync, writeFileSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  require(workerData.quickWasm);
  const { PGlite } = require(workerData.pglite);
  const { from } = workerData;
  PGlite.create(from ? { loadDataDir: new Blob([readFileSync(from)]) } : {}).then((database) => {
    parentPort.on('message', async (question) => {
      if (question === 'close') process.exit(0);
      const { id, sql, params, blob } = question;
      if (sql === '${SAVE}') {
        const files = await database.dumpDataDir('none');
        writeFileSync(params[0], Buffer.from(await files.arrayBuffer()));
        return parentPort.postMessage({ id, rows: [] });
      }
      const options = blob === undefined ? {} : { blob: new Blob([blob]) };
      const answer = await database.query(sql, params, options)
        .catch((error) => ({ error: error.message, code: error.code }));
      parentPort.postMessage({ id, ...answer });
    });
    parentPort.postMessage('ready');
  });
`;

/**
 * Opens PGlite, which is PostgreSQL, without files, with the tables of the history: from the
 * archive of such a database (empty-database.ts), or anew, which takes five seconds.
 */
export async function memoryDatabase(): Promise<Database> {
  const workerData = {
    from: process.env.TEST_EMPTY_HISTORY,
    pglite: require.resolve('@electric-sql/pglite'),
    quickWasm: require.resolve('./quick-wasm.cjs'),
  };
  const worker = new Worker(IN_MEMORY, { eval: true, workerData });
  // A test that ends before the database is open must not wait for it.
  worker.unref();
  const database = await databaseInThread(worker, () => undefined);
  await migrate(database);
  return database;
}

/** Removes all deliveries and their responses, with their partitions. */
export async function dropDeliveries({ query }: Database): Promise<void> {
  const parts = await query<{ name: string }>('delete from waypost.parts returning name');
  for (const { name } of parts) {
    await query(`drop table waypost.${name}, waypost.${tablesOf(name).responses}`);
  }
}

export interface PostgresServer {
  url: string;
  /** Ends the server immediately, as a crash would. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server on new files, which `stop` removes.
 * @throws Error if PostgreSQL is not installed: the history supports both databases and is tested
 *   on both
 */
export async function postgresServer(): Promise<PostgresServer> {
  const bin = postgresBinaries();
  const dir = mkdtempSync(join(tmpdir(), 'waypost-postgres-'));
  const port = await freePort();
  // PostgreSQL refuses to run as root.
  const owner = userInfo().uid === 0 ? postgresUser() : undefined;
  if (owner) chownSync(dir, owner.uid, owner.gid);
  chmodSync(dir, 0o700);
  const data = join(dir, 'data');
  execFileSync(
    join(bin, 'initdb'),
    // A collation that sorts letters of both cases together, as many servers have it.
    [
      '-D',
      data,
      '-U',
      'waypost',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--no-sync',
      '--locale-provider=icu',
      '--icu-locale=en-US',
      '--locale=C.utf8',
    ],
    {
      ...owner,
      cwd: dir,
      stdio: 'pipe',
    },
  );
  const args = [
    '-D',
    data,
    '-p',
    String(port),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    `unix_socket_directories=${dir}`,
    // The machine outlives the server: what it has written is in the memory of the system.
    '-c',
    'fsync=off',
  ];
  const url = `postgres://waypost@127.0.0.1:${String(port)}/postgres`;
  let end: (signal: NodeJS.Signals) => Promise<void> = () => Promise.resolve();
  const start = async () => {
    const server = spawn(join(bin, 'postgres'), args, { ...owner, cwd: dir, stdio: 'pipe' });
    let text = '';
    server.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    let hasEnded = false;
    const exited = new Promise<void>((resolve) =>
      server.once('exit', () => {
        hasEnded = true;
        resolve();
      }),
    );
    end = (signal) => endChild(server, exited, { signal, deadlineMs: STOP_MS });
    await eventually(
      () => {
        if (hasEnded) throw new Final(`PostgreSQL ended: ${text}`);
        if (!text.includes('ready to accept connections')) throw new Error(text);
      },
      { deadlineMs: READY_MS },
    );
  };
  await start();
  return {
    url,
    start,
    // Immediate shutdown: no checkpoint, as after a crash; SIGKILL would leave its children behind.
    kill: () => end('SIGQUIT'),
    stop: async () => {
      await end('SIGQUIT');
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function postgresBinaries(): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions
    .map((version) => join(root, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')));
  if (found) return found;
  const [path] = (process.env.PATH ?? '')
    .split(':')
    .filter((dir) => existsSync(join(dir, 'postgres')));
  if (path) return path;
  throw new Error(
    'No PostgreSQL is installed, and the history is tested on it: apt-get install postgresql',
  );
}

function postgresUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Returns a database as one of several processes on a server sees it.
 * @param beforeTransaction while it waits, the process is frozen
 */
export function asShared(
  database: Database,
  beforeTransaction: () => Promise<void> = () => Promise.resolve(),
): Database {
  return {
    kind: 'server',
    query: database.query,
    transaction: async (work) => {
      await beforeTransaction();
      return database.transaction((transaction) => work({ ...transaction, kind: 'server' }));
    },
    broken: undefined,
    close: () => Promise.resolve(),
  };
}

/** The next owner gets every lease that a frozen process held. */
export async function endLeases({ query }: Database): Promise<void> {
  await query('update waypost.leases set until = 0');
}

/** A place where a process is frozen, as SIGSTOP does, until it goes on. */
export function freezer(): {
  freeze: () => Promise<void>;
  frozen: Promise<void>;
  thaw: () => void;
} {
  let thaw: () => void = () => undefined;
  let reach: () => void = () => undefined;
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  const frozen = new Promise<void>((resolve) => (reach = resolve));
  const freeze = () => {
    reach();
    return thawed;
  };
  return { freeze, frozen, thaw };
}
