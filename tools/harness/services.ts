import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import {
  choosePorts,
  healthPort,
  localSettings,
  type PortName,
  PORTS,
} from '../../dev/local-settings';
import { type Output } from '../../dev/output';
import { freePorts } from '../../test/support/free-port';
import { urlOf, whyNotReady } from '../../dev/readiness';
import { localSecrets } from '../../dev/secrets';
import { processEntry, type ProcessName, SERVICES, type ServiceName } from '../../bin/service-list';
import { type ServiceProcess, startService } from '../../dev/service-process';
import { defined } from '../../shared/collections/defined';

/**
 * Runs services as separate processes, with the settings of `npm start`, on a separate topic
 * prefix.
 */

const READY_MS = 60_000;
const STOP_MS = 10_000;
const POLL_MS = 50;
/** Number of last output lines of the services to show after a failure. */
const KEPT_LINES = 30;

export interface SystemOptions {
  broker: string;
  /** the data dir: secrets, and the services' stores */
  dir: string;
  prefix: string;
  /** more settings */
  env?: Record<string, string>;
}

/** The settings that processes of one system share. */
export interface SystemEnv {
  prefix: string;
  env: Record<string, string>;
  ingestUrl: string;
  controlUrl: string;
  adminToken: string;
  healthPorts: (name: ServiceName) => number;
}

/** Running services. */
export interface RunningServices {
  pids: Record<string, number>;
  /** their log lines at level warning or above with the reason, and their number */
  warnings(): Record<string, number>;
  /**
   * Resolves when all are ready.
   * @throws with its output if one ends first
   */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** Returns the environment of a system: free ports, new secrets, defaults for everything else. */
export async function systemEnv(options: SystemOptions): Promise<SystemEnv> {
  mkdirSync(options.dir, { recursive: true });
  const { env, settings } = localSettings({
    ...bareEnv(),
    KAFKA_BROKERS: options.broker,
    WAYPOST_TOPIC_PREFIX: options.prefix,
    WAYPOST_REPLICATION: '1',
    // The benchmarks send everything through one source, at full speed.
    WAYPOST_SOURCE_MAX_PER_SECOND: '1000000',
    WAYPOST_DATA_DIR: options.dir,
    ...Object.fromEntries(PORTS.map((name) => [name, '0'])),
  });
  const ports = await choosePorts(settings, 0);
  const secrets = localSecrets(options.dir, env);
  return {
    prefix: options.prefix,
    env: { ...(env as Record<string, string>), ...secrets, ...asText(ports), ...options.env },
    ingestUrl: urlOf(settings.WAYPOST_HOST, ports.WAYPOST_INGEST_PORT),
    controlUrl: urlOf(settings.WAYPOST_HOST, ports.WAYPOST_CONTROL_PORT),
    adminToken: secrets.WAYPOST_ADMIN_TOKEN,
    healthPorts: (name) => ports[healthPort(name)],
  };
}

/** Returns the same system with other ports, for a second process of a service. */
export async function besideIn(system: SystemEnv, name: ServiceName): Promise<SystemEnv> {
  const [health = 0, own = 0] = await freePorts(2);
  const ports: Partial<Record<PortName, number>> = {
    [healthPort(name)]: health,
    ...defined({ WAYPOST_INGEST_PORT: name === 'ingest' ? own : undefined }),
  };
  return {
    ...system,
    env: { ...system.env, ...asText(ports) },
    ingestUrl: name === 'ingest' ? urlOf('127.0.0.1', own) : system.ingestUrl,
    healthPorts: (of) => (of === name ? health : system.healthPorts(of)),
  };
}

/**
 * Starts services; they stop in the order of `names`, so name first the services that accept work.
 */
export async function startServices(
  system: SystemEnv,
  names: readonly ProcessName[],
): Promise<RunningServices> {
  const printed: string[] = [];
  const warnings = new Map<string, number>();
  const keep = (line: string) => {
    printed.push(line);
    const warning = warningOf(line);
    if (warning !== undefined) warnings.set(warning, (warnings.get(warning) ?? 0) + 1);
    if (printed.length > KEPT_LINES) printed.shift();
  };
  const output: Output = { log: keep, error: keep, say: keep, event: () => undefined };
  const services = new Map<ProcessName, ServiceProcess>();
  for (const name of names) {
    services.set(
      name,
      await startService({ name, entry: processEntry(name), env: system.env, output }),
    );
  }
  let stopping = false;
  const died = Promise.race(
    [...services].map(async ([name, service]) => {
      const ending = await service.ended;
      if (!stopping) {
        throw new Error(
          `${name} ended (${ending.text}):\n${[...printed, service.complaint()].join('\n')}`,
        );
      }
    }),
  );
  // Only `ready` awaits it; the deadline of a measurement finds a process that dies later.
  died.catch((error: unknown) => process.stderr.write(`bench: ${String(error)}\n`));

  return {
    pids: Object.fromEntries([...services].map(([name, { pid }]) => [name, pid])),
    warnings: () => Object.fromEntries(warnings),
    ready: () => Promise.race([died, allReady(services, system)]),
    stop: async () => {
      stopping = true;
      for (const service of services.values()) await service.stop(STOP_MS);
    },
  };
}

/** Starts one service, and resolves when it is ready. */
export async function startReady(system: SystemEnv, name: ServiceName): Promise<RunningServices> {
  const service = await startServices(system, [name]);
  await service.ready();
  return service;
}

function asText(ports: Record<string, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]));
}

async function allReady(
  services: Map<ProcessName, ServiceProcess>,
  system: SystemEnv,
): Promise<void> {
  const until = Date.now() + READY_MS;
  for (const [name, service] of services) {
    for (;;) {
      const why = service.started() ? await notReady(name, system) : 'it has not started';
      if (why === undefined) break;
      if (Date.now() > until) throw new Error(`${name} did not get ready: ${why}`);
      await pause(POLL_MS);
    }
  }
}

/** Returns why a service of a process is not ready, or undefined. */
async function notReady(name: ProcessName, system: SystemEnv): Promise<string | undefined> {
  const names = name === 'all' ? SERVICES : [name];
  const whys = await Promise.all(
    names.map((each) => whyNotReady('127.0.0.1', system.healthPorts(each))),
  );
  return whys.find((why) => why !== undefined);
}

/**
 * Returns the environment of this process without Waypost settings, which would change the
 * measurement.
 */
function bareEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(WAYPOST_|KAFKA_|OTEL_|npm_|NODE_OPTIONS$)/.test(name),
    ),
  );
}

/** Returns the warning in a line of a service's log, or undefined for any other line. Pure. */
export function warningOf(line: string): string | undefined {
  if (!/"level":"(warn|error|fatal)"/.test(line)) return undefined;
  const field = (name: string) => new RegExp(`"${name}":"([^"]*)"`).exec(line)?.[1];
  const [service = '?', event = '?', reason] = [field('service'), field('msg'), field('reason')];
  return `${service} ${event}${reason === undefined ? '' : ` (${reason})`}`;
}
