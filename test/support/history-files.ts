import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '../../services/control/history/pglite';
import { migrate } from '../../services/control/history/schema';

/**
 * The files of an embedded history that holds nothing yet. To make them and their tables takes six seconds of CPU: a run of
 * tests makes them once, and each system that it starts has a copy.
 */

/** Makes them, once for the whole run. @returns how to remove them */
export async function makeHistoryFiles(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-test-history-'));
  const database = await openPglite(folder);
  await migrate(database);
  // Each copy is another database, and gets a name of its own.
  await database.query(`delete from waypost.meta where key = 'id'`);
  await database.close();
  // For the workers of jest.
  process.env.TEST_HISTORY_FILES = folder;
  return () => {
    delete process.env.TEST_HISTORY_FILES;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Puts a copy into a data dir that has none; outside a run of tests the system makes its own. */
export function copyHistoryFiles(dataDir: string): void {
  const from = process.env.TEST_HISTORY_FILES;
  const to = join(dataDir, 'history', 'pg');
  if (from !== undefined && !existsSync(to)) cpSync(join(from, 'pg'), to, { recursive: true });
}
