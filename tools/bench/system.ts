import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { choosePorts, healthPort, localSettings, PORTS } from '../../deploy/standalone/local-settings';
import { type Output } from '../../deploy/standalone/output';
import { serviceMain, type ServiceName } from '../../deploy/standalone/service-list';
import { urlOf, whyNotReady } from '../../deploy/standalone/readiness';
import { localSecrets } from '../../deploy/standalone/secrets';
import { type ServiceProcess, startService } from '../../deploy/standalone/service-process';
import { PROFILE_DIR, PROFILE_MAIN } from './profile';
import { warningOf } from './log-warning';

/** Services as processes of their own, with the settings that `npm start` gives them, on a topic prefix of their own. */

const READY_MS = 60_000;
const STOP_MS = 10_000;
const POLL_MS = 50;
/** Of what the services print, so much is kept, to be shown where one fails. */
const KEPT_LINES = 30;

export interface SystemOptions {
  broker: string;
  /** the data dir: secrets, and what a service stores */
  dir: string;
  prefix: string;
  /** where each service leaves a CPU profile when it ends */
  profileDir: string | undefined;
}

/** Everything that processes of one system share. */
export interface SystemEnv {
  env: Record<string, string>;
  ingestUrl: string;
  controlUrl: string;
  adminToken: string;
  healthPorts: (name: ServiceName) => number;
}

/** Services that run. */
export interface RunningServices {
  pids: Record<string, number>;
  /** what they logged as a warning or worse, with its reason, and how often */
  warnings(): Record<string, number>;
  /** Resolves when all are ready. @throws where one ends first, with what it said */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** The environment of a system: ports that are free, new secrets, defaults for all else. */
export async function systemEnv(options: SystemOptions): Promise<SystemEnv> {
  mkdirSync(options.dir, { recursive: true });
  const { env, settings } = localSettings({
    ...bareEnv(),
    KAFKA_BROKERS: options.broker,
    WAYPOST_TOPIC_PREFIX: options.prefix,
    WAYPOST_REPLICATION: '1',
    // The benchmarks send all by one source, as fast as it goes.
    WAYPOST_SOURCE_MAX_PER_SECOND: '1000000',
    WAYPOST_DATA_DIR: options.dir,
    ...Object.fromEntries(PORTS.map((name) => [name, '0'])),
  });
  const ports = await choosePorts(settings, 0);
  const secrets = localSecrets(options.dir, env);
  const profiling: Record<string, string> =
    options.profileDir === undefined
      ? {}
      : { NODE_OPTIONS: `--require ${PROFILE_MAIN}`, [PROFILE_DIR]: options.profileDir };
  return {
    env: { ...(env as Record<string, string>), ...secrets, ...asText(ports), ...profiling },
    ingestUrl: urlOf(settings.WAYPOST_HOST, ports.WAYPOST_INGEST_PORT),
    controlUrl: urlOf(settings.WAYPOST_HOST, ports.WAYPOST_CONTROL_PORT),
    adminToken: secrets.WAYPOST_ADMIN_TOKEN,
    healthPorts: (name) => ports[healthPort(name)],
  };
}

/** Starts services; they stop in the order of `names`, so name what takes work in first. */
export async function startServices(system: SystemEnv, names: readonly ServiceName[]): Promise<RunningServices> {
  const printed: string[] = [];
  const warnings = new Map<string, number>();
  const keep = (line: string) => {
    printed.push(line);
    const warning = warningOf(line);
    if (warning !== undefined) warnings.set(warning, (warnings.get(warning) ?? 0) + 1);
    if (printed.length > KEPT_LINES) printed.shift();
  };
  const output: Output = { log: keep, error: keep, say: keep, event: () => undefined };
  const services = new Map<ServiceName, ServiceProcess>();
  for (const name of names) {
    services.set(name, await startService({ name, main: serviceMain(name), env: system.env, output }));
  }
  let stopping = false;
  const died = Promise.race(
    [...services].map(async ([name, service]) => {
      const ending = await service.ended;
      if (!stopping)
        throw new Error(`${name} ended (${ending.text}):\n${[...printed, service.complaint()].join('\n')}`);
    }),
  );
  // It is awaited by `ready` only; what dies later is found by the deadline of a measurement.
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

function asText(ports: Record<string, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]));
}

async function allReady(services: Map<ServiceName, ServiceProcess>, system: SystemEnv): Promise<void> {
  const until = Date.now() + READY_MS;
  for (const [name, service] of services) {
    for (;;) {
      const why = service.started() ? await whyNotReady('127.0.0.1', system.healthPorts(name)) : 'it has not started';
      if (why === undefined) break;
      if (Date.now() > until) throw new Error(`${name} did not get ready: ${why}`);
      await pause(POLL_MS);
    }
  }
}

/** The environment of this process without settings of Waypost, which would change what is measured. */
function bareEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(WAYPOST_|KAFKA_|OTEL_|npm_|NODE_OPTIONS$)/.test(name)),
  );
}
