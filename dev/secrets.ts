import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDataDir } from '../shared/runtime/data-dir';

/**
 * The admin token and the secret key of a data dir: generated once, readable only by their owner,
 * the same at every start. A lost key loses everything that it encrypted, so an existing file is
 * never overwritten.
 */

/** The generated settings, under the names that services read. */
export interface Secrets {
  WAYPOST_ADMIN_TOKEN: string;
  WAYPOST_SECRET_KEY: string;
}

const FILES = {
  WAYPOST_ADMIN_TOKEN: { file: 'admin-token', encoding: 'base64url' },
  WAYPOST_SECRET_KEY: { file: 'secret-key', encoding: 'base64' },
} as const;

/**
 * Returns the secrets of a data dir, and creates missing ones. A value in the environment is used
 * as it is and not stored.
 * @throws AppError `cannot_start` if the dir cannot be written
 */
export function localSecrets(dir: string, env: NodeJS.ProcessEnv): Secrets {
  createDataDir(dir);
  for (const [name, { file, encoding }] of Object.entries(FILES)) {
    if (!env[name] && !existsSync(join(dir, file))) {
      createSecretFile(join(dir, file), randomBytes(32).toString(encoding));
    }
  }
  return storedSecrets(dir, env) as Secrets;
}

/** Returns the existing secrets, from the environment and from an earlier start. */
export function storedSecrets(dir: string, env: NodeJS.ProcessEnv): Partial<Secrets> {
  const stored = (name: keyof Secrets) => {
    const file = join(dir, FILES[name].file);
    const value = env[name] || (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
    return value === undefined ? {} : { [name]: value };
  };
  return { ...stored('WAYPOST_ADMIN_TOKEN'), ...stored('WAYPOST_SECRET_KEY') };
}

/**
 * Copies the key of a data dir, and nothing else, to a folder for another service. A key from the
 * environment is stored in neither.
 * @throws AppError `cannot_start` if the folder cannot be written
 */
export function copyKey(dir: string, folder: string): void {
  const { file } = FILES.WAYPOST_SECRET_KEY;
  if (!existsSync(join(dir, file))) return;
  createDataDir(folder);
  const draft = join(folder, `${file}.${randomUUID()}`);
  writeFileSync(draft, readFileSync(join(dir, file)), { mode: 0o600 });
  renameSync(draft, join(folder, file));
}

/**
 * Creates a file that only its owner can read. A link appears with its whole content or not at all.
 * If two are created at the same time, the first stays.
 */
export function createSecretFile(file: string, secret: string): void {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${secret}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
