import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceMain } from '../../bin/service-list';
import { freePorts } from '../../test/support/free-port';
import { type System } from '../harness/system';

/** A second delivery process beside the supervisor's. */
export interface SecondDelivery {
  /** its health port */
  port: number;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** @param env the settings of the system, including its brokers */
export async function startSecondDelivery(
  system: System,
  env: Record<string, string>,
): Promise<SecondDelivery> {
  const [port = 0] = await freePorts(1);
  const log = openSync(join(system.dataDir, 'second-delivery.log'), 'a');
  const child = spawn(process.execPath, ['--enable-source-maps', serviceMain('delivery')], {
    // Through the channel it notices every kind of end of this process.
    stdio: ['ignore', log, log, 'ipc'],
    env: {
      PATH: process.env.PATH,
      ...env,
      WAYPOST_HOST: '127.0.0.1',
      WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
      WAYPOST_DELIVERY_HEALTH_PORT: String(port),
      WAYPOST_SECRET_KEY: readFileSync(join(system.dataDir, 'secret-key'), 'utf8').trim(),
    },
  });
  closeSync(log);
  const ended = once(child, 'exit');
  await once(child, 'spawn');
  return {
    port,
    end: async (signal) => {
      child.kill(signal);
      await ended;
    },
  };
}
