import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { messageOf } from '../../../shared/service/errors';
import { type Param } from './database';

/**
 * The embedded PostgreSQL in a thread of its own: it runs while a query runs, and whoever shares a thread with it stands
 * still. It gives way to everything else on the machine: a history that lags harms nobody, a late delivery does.
 */

export interface WorkerData {
  dir: string;
  /** only make the files, and end: making them takes 500 MB that are never given back */
  create: boolean;
}
export interface Question {
  id: number;
  sql: string;
  params: readonly Param[];
  /** what COPY reads as the file /dev/blob */
  blob?: string;
}
export type Answer = { id: number; rows: unknown[] } | { id: number; error: string; code: string | undefined };

/** Behind control itself, which gives way to the other services of its machine (deploy/standalone/nice.ts). */
const NICENESS = 15;

/**
 * Beside the default of 1 GB for the log and 128 MB for buffers this is little, and enough: one writer, few readers. No
 * full replication log is needed. A crash of the process loses nothing; the power of the machine is another matter.
 */
const SETTINGS = [
  "max_wal_size = '64MB'",
  "min_wal_size = '32MB'",
  "shared_buffers = '32MB'",
  "maintenance_work_mem = '32MB'",
  'max_wal_senders = 0',
  "wal_level = 'minimal'",
];

/** Three tenths of the default: a look at how values are spread costs as much as 5,000 rows, and a part has 50,000. */
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
  // At 4 MB the overview's sums of a day are sorted by way of the disk.
  await database.query(`set work_mem = '16MB'`);
  parentPort?.on('message', (question: Question | 'close') => {
    if (question === 'close') void database.close().then(() => process.exit(0));
    else void answer(database, question);
  });
  // Not before: who starts the system waits for the files to be made and opened.
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
  // A WebAssembly module that failed to begin throws a number or an object without a message.
  throw error instanceof Error ? error : new Error(`PGlite could not open its files (${JSON.stringify(error)})`);
});
