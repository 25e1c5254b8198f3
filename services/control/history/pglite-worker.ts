import { constants, getPriority, setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { messageOf } from '../../../shared/runtime/errors';
import { returnIdleMemory } from '../../../shared/runtime/idle-memory';
import { type Param } from './database';
import { PGLITE_SETTINGS } from './pglite-settings';

/**
 * Runs the embedded PostgreSQL in its own thread, since a query blocks the thread it runs in. The
 * thread yields to everything else on the machine: a late history harms nothing, a late delivery
 * does.
 *
 * As a process with a folder as its argument it only creates the files there. That takes 500 MB,
 * and the process returns more than 100 MB of them to the system only at its end.
 */

export interface WorkerData {
  dir: string;
}
export interface Question {
  id: number;
  sql: string;
  params: readonly Param[];
  /** the content of the file /dev/blob, which COPY reads */
  blob?: ArrayBuffer;
}
export type Answer =
  { id: number; rows: unknown[] } | { id: number; error: string; code: string | undefined };

/**
 * Steps below the priority of control, whatever that is (dev/nice.ts): a third of its share of a
 * full machine. Far below it, the history of a machine that is always full would never arrive.
 */
const STEPS_DOWN = 5;

/**
 * Three tenths of the default: ANALYZE then costs as much as 5,000 rows, and a partition has
 * 50,000.
 */
const STATISTICS = 30;

async function create(dir: string): Promise<void> {
  // The process ends before optimised code would pay.
  setFlagsFromString('--liftoff-only');
  const database = await PGlite.create(dir);
  for (const setting of PGLITE_SETTINGS) await database.query(`alter system set ${setting}`);
  await database.close();
}

async function serve({ dir }: WorkerData): Promise<void> {
  const database = await PGlite.create(dir);
  await database.query(`set default_statistics_target = ${String(STATISTICS)}`);
  // With 4 MB the sums of a day for the overview are sorted on disk.
  await database.query(`set work_mem = '16MB'`);
  parentPort?.on('message', (question: Question | 'close') => {
    if (question === 'close') void database.close().then(() => process.exit(0));
    else void answer(database, question);
  });
  // Only now, because the start of the system waits until the files are created and opened.
  // Elsewhere a priority belongs to the whole process.
  if (process.platform === 'linux') {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + STEPS_DOWN));
  }
  returnIdleMemory();
  parentPort?.postMessage('ready');
}

async function answer(database: PGlite, { id, sql, params, blob }: Question): Promise<void> {
  let reply: Answer;
  try {
    const { rows } = await database.query(
      sql,
      [...params],
      blob === undefined ? {} : { blob: asBlob(blob) },
    );
    reply = { id, rows };
  } catch (error) {
    reply = { id, error: messageOf(error), code: (error as { code?: string }).code };
  }
  parentPort?.postMessage(reply);
}

/**
 * PGlite asks a blob only for its bytes. A real Blob would copy them, and hold them until it is
 * collected.
 */
function asBlob(bytes: ArrayBuffer): Blob {
  const blob: Pick<Blob, 'arrayBuffer'> = { arrayBuffer: () => Promise.resolve(bytes) };
  return blob as Blob;
}

const work = isMainThread ? create(process.argv[2] ?? '') : serve(workerData as WorkerData);
void work.catch((error: unknown) => {
  // A WebAssembly module that failed to start throws a number or an object without a message.
  throw error instanceof Error
    ? error
    : new Error(`PGlite could not open its files (${JSON.stringify(error)})`);
});
