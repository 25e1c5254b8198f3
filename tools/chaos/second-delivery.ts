import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceMain } from '../../deploy/standalone/service-list';
import { freePorts } from '../../deploy/standalone/ports';
import { type System } from '../harness/system';

/** One more delivery process beside the one that the supervisor keeps. */
export interface SecondDelivery {
  /** the port of its health */
  port: number;
  end(signal: NodeJS.Signals): Promise<void>;
}

/** @param env the settings of the system, its brokers among them */
export async function startSecondDelivery(system: System, env: Record<string, string>): Promise<SecondDelivery> {
  const [port = 0] = await freePorts(1);
  const log = openSync(join(system.dataDir, 'second-delivery.log'), 'a');
  const child = spawn(process.execPath, ['--enable-source-maps', serviceMain('delivery')], {
    // By the channel it sees this process go, however that happens.
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
