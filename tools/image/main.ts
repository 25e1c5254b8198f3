import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findPackages, formatNotices } from './notices';
import { keepLoadedLmdb, removeEmptyFolders } from './trim';

/**
 * Prepares what the image contains, for the Dockerfile:
 * `node dist/tools/image/main.js FOLDER NOTICES…` trims FOLDER/node_modules and writes
 * FOLDER/THIRD-PARTY-NOTICES. NOTICES are files to append: those of the console's bundle.
 */

function main([folder, ...more]: string[]): void {
  if (folder === undefined) throw new Error('Name the folder that holds node_modules.');
  const modules = resolve(folder, 'node_modules');
  process.stdout.write(`LMDB: ${keepLoadedLmdb(modules)}\n`);
  removeEmptyFolders(modules);
  const packages = findPackages(modules);
  const texts = [formatNotices(packages), ...more.map((file) => readFileSync(file, 'utf8'))];
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), texts.join('\n'));
  process.stdout.write(`${String(packages.length)} packages\n`);
}

main(process.argv.slice(2));
