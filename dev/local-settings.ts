import { join, resolve } from 'node:path';
import { sleep } from '../shared/runtime/async';
import { AppError } from '../shared/runtime/errors';
import { loadSettings, type Settings } from '../shared/runtime/settings';
import { SERVICES, type ServiceName } from '../bin/service-list';
import { freePorts, whyNotFree } from './ports';

/** The settings of a system on one machine: the few defaults that differ there, and its ports. */

/**
 * Waypost refuses private addresses for webhooks, but on one machine the receiver usually runs
 * there.
 */
const LOOPBACK = '127.0.0.0/8,::1/128';
const PAUSE_MS = 100;

/** The settings that hold ports, with what listens there. */
export const PORTS = [
  'WAYPOST_INGEST_PORT',
  'WAYPOST_CONTROL_PORT',
  ...SERVICES.map(healthPort),
] as const satisfies (keyof Settings)[];

/** A setting that holds a port. */
export type PortName = (typeof PORTS)[number];

/** Returns the setting of a service's health port. */
export function healthPort(name: ServiceName): `WAYPOST_${Uppercase<ServiceName>}_HEALTH_PORT` {
  return `WAYPOST_${name.toUpperCase() as Uppercase<ServiceName>}_HEALTH_PORT`;
}

/**
 * Adds the defaults of one machine to the environment, and parses its settings.
 * @throws AppError `bad_settings`
 */
export function localSettings(env: NodeJS.ProcessEnv): {
  env: NodeJS.ProcessEnv;
  settings: Settings;
} {
  const dataDir = resolve(env.WAYPOST_DATA_DIR || '.waypost');
  const filled = {
    // Node 22 and later keep the compiled code of the services there, so that later starts are
    // quicker.
    NODE_COMPILE_CACHE: join(dataDir, 'compile-cache'),
    ...env,
    WAYPOST_HOST: env.WAYPOST_HOST || '127.0.0.1',
    WAYPOST_ALLOWED_NETWORKS: env.WAYPOST_ALLOWED_NETWORKS ?? LOOPBACK,
    WAYPOST_DATA_DIR: dataDir,
  };
  return { env: filled, settings: loadSettings(filled) };
}

/**
 * Returns the ports to listen on, all free; for a setting of 0, a free one.
 * @param waitMs time to wait for a port that is in use
 * @throws AppError `cannot_start` that names every taken port, with its setting
 */
export async function choosePorts(
  settings: Settings,
  waitMs: number,
): Promise<Record<PortName, number>> {
  const host = settings.WAYPOST_HOST;
  const chosen = Object.fromEntries(PORTS.map((name) => [name, settings[name]])) as Record<
    PortName,
    number
  >;
  const open = PORTS.filter((name) => chosen[name] === 0);
  const free = await freePorts(open.length, host);
  for (const [i, name] of open.entries()) chosen[name] = free[i] ?? 0;

  const twice = PORTS.filter((name) =>
    PORTS.some((other) => other !== name && chosen[other] === chosen[name]),
  );
  if (twice.length > 0) {
    throw new AppError('cannot_start', `These settings name the same port: ${twice.join(', ')}.`);
  }

  const until = performance.now() + waitMs;
  for (;;) {
    const taken = await takenPorts(chosen, host);
    if (taken.length === 0) return chosen;
    if (performance.now() >= until) throw portsTaken(taken, host);
    await sleep(PAUSE_MS);
  }
}

interface TakenPort {
  name: PortName;
  port: number;
  why: string;
}

/** Returns the ports on which this process cannot listen, and why. */
export async function takenPorts(
  ports: Record<PortName, number>,
  host: string,
): Promise<TakenPort[]> {
  const taken: TakenPort[] = [];
  for (const name of PORTS) {
    const why = await whyNotFree(ports[name], host);
    if (why !== undefined) taken.push({ name, port: ports[name], why });
  }
  return taken;
}

function portsTaken(taken: TakenPort[], host: string): AppError {
  const other = taken.find(({ why }) => why !== 'EADDRINUSE');
  if (other) {
    const { name, port, why } = other;
    return new AppError(
      'cannot_start',
      `Nothing can listen on ${host}:${String(port)} (${why}); see WAYPOST_HOST and ${name}.`,
    );
  }
  const list = taken.map(({ name, port }) => `${String(port)} (${name})`).join(', ');
  const [are, them] = taken.length === 1 ? ['Port', 'is'] : ['Ports', 'are'];
  return new AppError(
    'cannot_start',
    `${are} ${list} on ${host} ${them} in use: stop what listens there, or set another ` +
      'port by the name in brackets.',
  );
}
