import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '../../services/control/history/pglite';
import { migrate } from '../../services/control/history/schema';

/**
 * Files of an empty embedded history. Creating them and their tables takes six seconds of CPU: a
 * test run creates them once, and each system that it starts gets a copy.
 */

/** Creates the files, once for the whole run. @returns a function that removes them */
export async function makeHistoryFiles(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-test-history-'));
  const database = await openPglite(folder);
  await migrate(database);
  // Each copy is a different database and gets its own id.
  await database.query(`delete from waypost.meta where key = 'id'`);
  await database.close();
  // For the workers of jest.
  process.env.TEST_HISTORY_FILES = folder;
  return () => {
    delete process.env.TEST_HISTORY_FILES;
    rmSync(folder, { recursive: true, force: true });
  };
}

/**
 * Copies the files into a data dir that has none. Outside a test run the system creates them
 * itself.
 */
export function copyHistoryFiles(dataDir: string): void {
  const from = process.env.TEST_HISTORY_FILES;
  const to = join(dataDir, 'history', 'pg');
  if (from !== undefined && !existsSync(to)) cpSync(join(from, 'pg'), to, { recursive: true });
}
