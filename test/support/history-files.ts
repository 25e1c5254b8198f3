import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Gives a data dir the files of an empty history, from the archive of the test run
 * (empty-database.ts). Outside a test run the system creates them itself, which takes six seconds
 * of CPU.
 */
export function copyHistoryFiles(dataDir: string): void {
  const archive = process.env.TEST_EMPTY_HISTORY;
  const folder = join(dataDir, 'history', 'pg');
  if (archive === undefined || existsSync(folder)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Says that it removes the slash before each name.
  execFileSync('tar', ['-xf', archive, '-C', folder], { stdio: 'pipe' });
}
