import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../../shared/runtime/repo-root';

/** Reads the files of deploy/, for tests that compare them with the code. */

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The caller chooses the type; the test finds missing fields. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- it is unchecked
export const readYaml = <T>(path: string): T => parse(read(path), { merge: true }) as T;

/** Resolves `${NAME:-value}` of docker compose as without any `.env`. */
export const withDefaults = (value: string): string =>
  value.replace(/\$\{\w+(?::-([^}]*))?\}/g, '$1');
