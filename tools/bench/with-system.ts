import { join } from 'node:path';
import { type ServiceName } from '../../deploy/standalone/service-list';
import { type Bench } from './setup';
import { type RunningServices, startServices, type SystemEnv, systemEnv } from './system';

/** One system of a benchmark, from its start to its end. */

/** A running system. */
export interface Running {
  prefix: string;
  system: SystemEnv;
  services: RunningServices;
  /** of the services, the broker, the receiver and this process */
  pids: Record<string, number>;
}

/**
 * Starts services on separate topics, waits until they are ready, and stops everything even if `use` fails.
 * @param options.before runs before the services start, to prepare their data
 */
export async function withSystem<T>(
  bench: Bench,
  options: {
    name: string;
    services: readonly ServiceName[];
    before?: (system: SystemEnv) => Promise<void>;
  },
  use: (running: Running) => Promise<T>,
): Promise<T> {
  const { broker, endpoint, profileDir } = bench;
  const prefix = bench.newPrefix(options.name);
  const system = await systemEnv({ broker: broker.address, dir: join(bench.dir, prefix), prefix, profileDir });
  try {
    await options.before?.(system);
    const services = await startServices(system, options.services);
    try {
      await services.ready();
      const pids = { ...services.pids, broker: broker.pid, receiver: endpoint.pid, bench: process.pid };
      return await use({ prefix, system, services, pids });
    } finally {
      await services.stop();
    }
  } finally {
    await broker.forget(prefix);
  }
}
