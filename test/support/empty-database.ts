import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PGLITE_SETTINGS } from '../../services/control/history/pglite-settings';
import { ROOT } from '../../shared/runtime/repo-root';
import { memoryDatabase, SAVE } from './database';

/**
 * The files of an empty history in one archive, from which each test opens its own database, and
 * each system that a test starts. To create PostgreSQL's files and the tables takes five seconds of
 * CPU, to load them one.
 */

const FOLDER = join(ROOT, 'node_modules', '.cache', 'waypost');
/** All that decides what an empty history consists of. */
const HISTORY = join(ROOT, 'services', 'control', 'history');
const PGLITE = join(ROOT, 'node_modules', '@electric-sql', 'pglite', 'package.json');

/**
 * Runs before the tests; jest calls it for unit tests. Creates the archive if the code of the
 * history has changed.
 */
export default async function giveEmptyDatabase(): Promise<void> {
  const name = `empty-history-${fingerprint()}.tar`;
  const path = join(FOLDER, name);
  if (!existsSync(path)) {
    mkdirSync(FOLDER, { recursive: true });
    // Another run may create it at the same time.
    const draft = `${path}.${String(process.pid)}`;
    const database = await memoryDatabase();
    for (const setting of PGLITE_SETTINGS) await database.query(`alter system set ${setting}`);
    // Each database that a test opens gets its own id.
    await database.query(`delete from waypost.meta where key = 'id'`);
    await database.query(SAVE, [draft]);
    await database.close();
    renameSync(draft, path);
    for (const old of readdirSync(FOLDER)) {
      if (old.startsWith('empty-history-') && old.endsWith('.tar') && old !== name) {
        rmSync(join(FOLDER, old));
      }
    }
  }
  // For the workers of jest.
  process.env.TEST_EMPTY_HISTORY = path;
}

function fingerprint(): string {
  const hash = createHash('sha256').update(readFileSync(PGLITE));
  for (const file of readdirSync(HISTORY).sort()) {
    hash.update(file).update(readFileSync(join(HISTORY, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
