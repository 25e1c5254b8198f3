import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Searches upwards from this file, which runs both as source and compiled in dist. */
function repositoryRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from;
  const parent = dirname(from);
  if (parent === from) {
    throw new Error('Waypost must run inside its repository: no package.json was found above it.');
  }
  return repositoryRoot(parent);
}

/** The folder that holds package.json. */
export const ROOT = repositoryRoot(__dirname);
