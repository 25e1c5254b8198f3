import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../../../shared/service/repo-root';

/** The files of deploy/, for the tests that hold them against the code. */

export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Typed by whoever asks: what is not there the test finds. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the only unchecked type
export const readYaml = <T>(path: string): T => parse(read(path), { merge: true }) as T;

/** `${NAME:-value}` of docker compose, as it is without any `.env`. */
export const withDefaults = (value: string): string => value.replace(/\$\{\w+(?::-([^}]*))?\}/g, '$1');
