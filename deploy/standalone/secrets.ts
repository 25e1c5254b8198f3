import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The admin token and the secret key of a data dir: made once, readable by their owner only, the same at every start.
 * What was encrypted with a lost key is lost, so an existing file is never written over.
 */

/** The settings that were generated, under the names that services read them by. */
export interface Secrets {
  WAYPOST_ADMIN_TOKEN: string;
  WAYPOST_SECRET_KEY: string;
}

/** The secrets of a data dir; what the environment sets is taken as it is and not stored. */
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

/** A link appears with its content or not at all, and of two that are made at once the first stays. */
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
