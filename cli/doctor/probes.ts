import { join } from 'node:path';
import { defined } from '../../shared/collections/defined';
import { findSystem, type LocalSystemEntry } from '../../shared/runtime/local-systems';
import { readPrivateFile } from '../../shared/runtime/private-file';
import { localDir } from '../connect/files';
import { type ProcessContext } from '../process-context';
import { type Health } from './check';

/** The checks outside the API: environment, data dir, and health ports. */

const PATIENCE_MS = 5_000;

export interface Surroundings {
  /** the environment of this system's services, as far as it is known here */
  env: Record<string, string | undefined>;
  /** the system of this data dir, if `npm start` of this user runs it */
  local: LocalSystemEntry | undefined;
}

/** @param url the control API in use: the data dir of another system does not count */
export function surroundings(
  { env, cwd, home }: Pick<ProcessContext, 'env' | 'cwd' | 'home'>,
  url: string,
): Surroundings {
  const found = findSystem({ env, home }, localDir({ env, cwd, home }));
  const local = found?.control === url ? found : undefined;
  if (!local) return { env, local };
  const key = join(local.dir, 'secret-key');
  const filled = {
    ...env,
    ...(env.KAFKA_BROKERS ? undefined : local.kafka),
    WAYPOST_SECRET_KEY: env.WAYPOST_SECRET_KEY || readPrivateFile(key)?.trim(),
    ...defined({
      WAYPOST_REPLICATION: local.embedded && !env.WAYPOST_REPLICATION ? '1' : undefined,
    }),
  };
  return { env: filled, local };
}

/** @returns undefined if nothing responds */
export async function askHealth(at: string): Promise<Health | undefined> {
  try {
    const response = await fetch(`${at}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const { reasons = [], degraded = [] } = (await response.json()) as Partial<Health>;
    return { status: response.status, reasons, degraded };
  } catch {
    return undefined;
  }
}

/**
 * Returns a lower bound of how far the server's clock is ahead; its `Date` header has whole
 * seconds.
 */
export async function clockAhead(url: string): Promise<number | undefined> {
  const sentAt = Date.now();
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) });
  await response.arrayBuffer();
  const receivedAt = Date.now();
  const date = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(date)) return undefined;
  // The header was set at some point of that second, between our two readings.
  if (date + 1_000 < sentAt) return date + 1_000 - sentAt;
  return Math.max(0, date - receivedAt);
}

/**
 * Sends a request that ingest answers and discards.
 * @returns its status
 * @throws any error of fetch
 */
export async function askIngest(url: string): Promise<number> {
  const response = await fetch(`${url}/v1/m`, {
    method: 'POST',
    body: '{}',
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await response.arrayBuffer();
  return response.status;
}
