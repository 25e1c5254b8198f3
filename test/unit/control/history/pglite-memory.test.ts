import { EventEmitter } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type WorkerOptions } from 'node:worker_threads';
import { openPglite } from '../../../../services/control/history/pglite';

/** The embedded database's memory: the limits of its thread, and the bytes that pass to it. */

interface Sent {
  question: { sql: string; blob?: ArrayBuffer };
  transferred: readonly unknown[];
}
const seen: { options: WorkerOptions[]; sent: Sent[] } = { options: [], sent: [] };

/** Stands for the thread: it is ready at once, and answers each query with no rows. */
class FakeThread extends EventEmitter {
  constructor(_file: string, options: WorkerOptions) {
    super();
    seen.options.push(options);
    setImmediate(() => this.emit('message', 'ready'));
  }
  postMessage(
    question: 'close' | { id: number; sql: string; blob?: ArrayBuffer },
    transferred: unknown[] = [],
  ) {
    if (question === 'close') setImmediate(() => this.emit('exit', 0));
    else {
      seen.sent.push({ question, transferred });
      setImmediate(() => this.emit('message', { id: question.id, rows: [] }));
    }
  }
}

jest.mock('node:worker_threads', () => ({
  ...jest.requireActual<object>('node:worker_threads'),
  get Worker() {
    return FakeThread;
  },
}));

test('the database thread has a heap limit, and rows for COPY move without a copy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-pglite-'));
  mkdirSync(join(folder, 'pg'));
  const database = await openPglite(folder);
  await database.transaction((tx) => tx.copy('delivery', 'id, name', '1\tä\n'));
  await database.close();
  rmSync(folder, { recursive: true });

  // Without a limit, and without the flags of `npm start`, the thread holds as much garbage as V8
  // allows a process of this machine.
  expect(seen.options[0]?.resourceLimits?.maxOldGenerationSizeMb).toBeLessThanOrEqual(128);
  const copy = seen.sent.find(({ question }) => question.sql.startsWith('copy'));
  expect(Buffer.from(copy?.question.blob ?? new ArrayBuffer(0)).toString()).toBe('1\tä\n');
  expect(copy?.transferred).toEqual([copy?.question.blob]);
});
