import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { messageOf } from '../../../shared/service/errors';
import { type Param } from './database';

/**
 * Runs the embedded PostgreSQL in its own thread, since a query blocks the thread it runs in. The thread yields to
 * everything else on the machine: a late history harms nothing, a late delivery does.
 */

export interface WorkerData {
  dir: string;
  /** only create the files, then end: creating them takes 500 MB that are not returned to the system */
  create: boolean;
}
export interface Question {
  id: number;
  sql: string;
  params: readonly Param[];
  /** the content of the file /dev/blob, which COPY reads */
  blob?: string;
}
export type Answer = { id: number; rows: unknown[] } | { id: number; error: string; code: string | undefined };

/** Lower than control's priority, which is lower than the other services' (deploy/standalone/nice.ts). */
const NICENESS = 15;

/**
 * Less than the defaults of 1 GB for the WAL and 128 MB for buffers, and enough for one writer and few readers. No
 * replica needs the WAL. A crash of the process loses nothing; a power failure of the machine may.
 */
const SETTINGS = [
  "max_wal_size = '64MB'",
  "min_wal_size = '32MB'",
  "shared_buffers = '32MB'",
  "maintenance_work_mem = '32MB'",
  'max_wal_senders = 0',
  "wal_level = 'minimal'",
];

/** Three tenths of the default: ANALYZE then costs as much as 5,000 rows, and a partition has 50,000. */
const STATISTICS = 30;

async function main(): Promise<void> {
  const { dir, create } = workerData as WorkerData;
  const database = await PGlite.create(dir);
  if (create) {
    for (const setting of SETTINGS) await database.query(`alter system set ${setting}`);
    await database.close();
    return;
  }
  await database.query(`set default_statistics_target = ${String(STATISTICS)}`);
  // With 4 MB the sums of a day for the overview are sorted on disk.
  await database.query(`set work_mem = '16MB'`);
  parentPort?.on('message', (question: Question | 'close') => {
    if (question === 'close') void database.close().then(() => process.exit(0));
    else void answer(database, question);
  });
  // Only now, because the start of the system waits until the files are created and opened.
  setPriority(NICENESS);
  parentPort?.postMessage('ready');
}

async function answer(database: PGlite, { id, sql, params, blob }: Question): Promise<void> {
  let reply: Answer;
  try {
    const { rows } = await database.query(sql, [...params], blob === undefined ? {} : { blob: new Blob([blob]) });
    reply = { id, rows };
  } catch (error) {
    reply = { id, error: messageOf(error), code: (error as { code?: string }).code };
  }
  parentPort?.postMessage(reply);
}

void main().catch((error: unknown) => {
  // A WebAssembly module that failed to start throws a number or an object without a message.
  throw error instanceof Error ? error : new Error(`PGlite could not open its files (${JSON.stringify(error)})`);
});
