import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { defined } from '../../../shared/collections/defined';
import { inTurn } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { takeLock } from '../../../shared/runtime/data-dir';
import { ROOT } from '../../../shared/runtime/repo-root';
import { type Database, type Param, type Row, type Transaction } from './database';
import { type Answer, type Question, type WorkerData } from './pglite-worker';

/**
 * Opens the embedded database: files in the data directory, used by a worker thread
 * (pglite-worker.ts).
 */

const CLOSE_MS = 10_000;

/**
 * The thread needs 25 MB of heap, a large result of a query some more. V8 first collects its old
 * objects at `--initial-old-space-size`, and at half of this limit at the latest. A
 * `--max-old-space-size` of the process, as in the chart, replaces the limit.
 */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128 };

/**
 * The thread runs compiled code, also if this file runs from source (in tests): Node cannot load
 * TypeScript.
 */
const WORKER_FILE = join(
  __dirname.startsWith(join(ROOT, 'dist'))
    ? __dirname
    : join(ROOT, 'dist', relative(ROOT, __dirname)),
  'pglite-worker.js',
);

/**
 * Opens the database in a folder, and creates the folder if necessary.
 * @throws AppError `cannot_start` if another process has the database open
 */
export async function openPglite(folder: string): Promise<Database> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  closeToOthers(folder);
  const lock = takeLock(folder);
  try {
    const dir = join(folder, 'pg');
    if (!existsSync(dir)) await createFiles(folder, dir);
    const options = { workerData: { dir } satisfies WorkerData, resourceLimits: RESOURCE_LIMITS };
    const worker = new Worker(WORKER_FILE, options);
    return await databaseInThread(worker, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The folder contains keys that sign sessions. A volume may have been created readable for all. */
function closeToOthers(folder: string): void {
  try {
    chmodSync(folder, 0o700);
  } catch {
    // The volume belongs to another owner, who sets its mode.
  }
}

const DRAFT = 'pg.new';

/**
 * Creates the files under another name first, since a half-created database would never open. The
 * name has the pid of control: the child process of a control that was killed still writes for a
 * second or two.
 */
async function createFiles(folder: string, dir: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(DRAFT)) rmSync(join(folder, name), { recursive: true, force: true });
  }
  const draft = join(folder, `${DRAFT}-${String(process.pid)}`);
  // It needs none of control's secrets.
  await promisify(execFile)(process.execPath, [WORKER_FILE, draft], { env: {} });
  renameSync(draft, dir);
}

const encoder = new TextEncoder();

interface Thread {
  query(sql: string, params: readonly Param[], blob?: ArrayBuffer): Promise<Row[]>;
  readonly broken: string | undefined;
  close(): Promise<void>;
}

async function openThread(worker: Worker): Promise<Thread> {
  const waiting = new Map<
    number,
    { resolve: (rows: Row[]) => void; reject: (error: Error) => void }
  >();
  let lastId = 0;
  let broken: string | undefined;
  const end = (why: string) => {
    broken ??= why;
    for (const asker of waiting.values()) asker.reject(new Error(broken));
    waiting.clear();
  };
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      end(`the embedded database ended with ${String(code)}`);
      resolve();
    });
  });
  await new Promise<void>((resolve, reject) => {
    worker.on('error', (error) => {
      end(`the embedded database failed: ${messageOf(error)}`);
      reject(error);
    });
    void exited.then(() => reject(new Error(broken)));
    worker.on('message', (message: Answer | 'ready') => {
      if (message === 'ready') {
        resolve();
        return;
      }
      const asker = waiting.get(message.id);
      waiting.delete(message.id);
      if ('rows' in message) asker?.resolve(message.rows as Row[]);
      else asker?.reject(Object.assign(new Error(message.error), { code: message.code }));
    });
  });
  return {
    query: (sql, params, blob) =>
      new Promise((resolve, reject) => {
        if (broken !== undefined) {
          reject(new Error(broken));
          return;
        }
        waiting.set(++lastId, { resolve, reject });
        const question: Question = {
          id: lastId,
          sql,
          params,
          ...defined({ blob }),
        };
        worker.postMessage(question, blob === undefined ? [] : [blob]);
      }),
    get broken() {
      return broken;
    },
    close: async () => {
      if (broken === undefined) worker.postMessage('close');
      const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/**
 * Returns the database of a thread. It has one connection, so transactions and other queries run
 * one after the other.
 */
export async function databaseInThread(worker: Worker, onClosed: () => void): Promise<Database> {
  const thread = await openThread(worker);
  const oneAtATime = inTurn();
  const queries: Transaction = {
    kind: 'embedded',
    query: async <T extends Row>(sql: string, params: readonly Param[] = []) =>
      (await thread.query(sql, params)) as T[],
    copy: async (table, columns, rows) => {
      await thread.query(
        `copy ${table} (${columns}) from '/dev/blob'`,
        [],
        encoder.encode(rows).buffer,
      );
    },
  };
  return {
    kind: 'embedded',
    get broken() {
      return thread.broken;
    },
    query: (sql, params) => oneAtATime(() => queries.query(sql, params)),
    transaction: (work) =>
      oneAtATime(async () => {
        await queries.query('begin');
        try {
          const result = await work(queries);
          await queries.query('commit');
          return result;
        } catch (error) {
          await queries.query('rollback').catch(() => undefined);
          throw error;
        }
      }),
    close: async () => {
      await oneAtATime(() => thread.close());
      onClosed();
    },
  };
}
