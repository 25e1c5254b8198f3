import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The admin token and the secret key of a data dir: generated once, readable only by their owner, the same at every
 * start. A lost key loses everything that it encrypted, so an existing file is never overwritten.
 */

/** The generated settings, under the names that services read. */
export interface Secrets {
  WAYPOST_ADMIN_TOKEN: string;
  WAYPOST_SECRET_KEY: string;
}

/** Returns the secrets of a data dir. A value in the environment is used as it is and not stored. */
export function localSecrets(dir: string, env: NodeJS.ProcessEnv): Secrets {
  mkdirSync(dir, { recursive: true });
  return {
    WAYPOST_ADMIN_TOKEN: env.WAYPOST_ADMIN_TOKEN || kept(join(dir, 'admin-token'), 'base64url'),
    WAYPOST_SECRET_KEY: env.WAYPOST_SECRET_KEY || kept(join(dir, 'secret-key'), 'base64'),
  };
}

function kept(file: string, encoding: 'base64' | 'base64url'): string {
  if (!existsSync(file)) make(file, randomBytes(32).toString(encoding));
  return readFileSync(file, 'utf8').trim();
}

/** A link appears with its whole content or not at all. If two are created at the same time, the first stays. */
function make(file: string, secret: string): void {
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
