import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/** Removes from a folder `node_modules` what this kind of machine never loads. */

/**
 * Removes the binaries of LMDB for other kinds of machines.
 * @returns the file that stays: the one that this process loads
 * @throws Error if LMDB loads none
 */
export function keepLoadedLmdb(modules: string): string {
  createRequire(join(modules, 'package.json'))('lmdb');
  const report = process.report.getReport() as { sharedObjects?: string[] };
  const loaded = report.sharedObjects?.find(
    (file) => file.startsWith(join(modules, '@lmdb')) && file.endsWith('.node'),
  );
  if (loaded === undefined) {
    throw new Error(`LMDB in ${modules} loads no binary of the folder @lmdb.`);
  }
  for (const name of readdirSync(dirname(loaded))) {
    if (name.endsWith('.node') && name !== basename(loaded)) rmSync(join(dirname(loaded), name));
  }
  return loaded;
}

/** Removes the folders that hold no file, at any depth. @returns whether this one is empty now */
export function removeEmptyFolders(folder: string): boolean {
  let empty = true;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && removeEmptyFolders(path)) rmdirSync(path);
    else empty = false;
  }
  return empty;
}
