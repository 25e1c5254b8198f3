import { defined } from '../shared/collections/defined';
import { AppError, messageOf } from '../shared/runtime/errors';
import { connectKafka } from '../shared/kafka/client/client';
import { outdatedNode } from '../shared/runtime/distrusted-roots';
import { takeLock } from '../shared/runtime/data-dir';
import { homeFolder } from '../shared/runtime/home';
import { returnIdleMemory } from '../shared/runtime/idle-memory';
import { enterSystem } from '../shared/runtime/local-systems';
import { loadSettings, type Settings } from '../shared/runtime/settings';
import { createLog } from '../shared/telemetry/log';
import { type RestartedProgram } from './restart';
import { type LocalKafka, localKafka } from './kafka/local-kafka';
import { choosePorts, healthPort, localSettings, type PortName } from './local-settings';
import { createOutput, type Output } from './output';
import { processEntry, type ProcessName, SERVICES, type ServiceName } from '../bin/service-list';
import { reachable, urlOf } from './readiness';
import { secureDataDir } from './own-data-dir';
import { localSecrets } from './secrets';
import { type Services, startServices } from './services';
import { stopSignal } from './signals';

/**
 * The whole system on one machine: Kafka and the services as child processes of this one.
 * Everything that was started is stopped, even after a failure; the broker starts first and stops
 * last.
 */

/** A running, usable system. */
export interface LocalSystem {
  ingestUrl: string;
  controlUrl: string;
  brokers: string[];
  embedded: boolean;
  /** the settings with which a service connects to its Kafka */
  kafka: Record<string, string>;
  healthPorts: Record<ServiceName, number>;
  adminToken: string;
  settings: Settings;
  output: Output;
}

/** The program to run. */
export interface SuperviseOptions {
  env: NodeJS.ProcessEnv;
  /**
   * Called once when everything is ready; the system continues after it, unless it returns an exit
   * code or throws.
   */
  onReady(system: LocalSystem, stopping: AbortSignal): Promise<number | undefined>;
  /** runs all services in one process, which needs half of the memory; default: a process each */
  together?: boolean;
  /** this is a container, whose data dir is a volume that may belong to another user */
  container?: boolean;
  /** the compiled entry of a process, with its arguments; tests replace it */
  entry?: (name: ProcessName) => readonly string[];
}

/**
 * After an unclean end, leftover processes end by themselves within this time and free their ports.
 */
const LEFTOVERS_MS = 10_000;
const BROKER_STOP_MS = 20_000;
const TOPIC_TRIES = 3;

/** Everything that was started and must be stopped. */
interface Started {
  broker?: RestartedProgram;
  services?: Services;
  releaseLock?: () => void;
}

/**
 * Runs the system until a signal, or until its start fails.
 * @returns the exit code
 */
export async function supervise(options: SuperviseOptions): Promise<number> {
  process.title = 'waypost';
  // What this process and its children write, the records of Kafka among it, is for this user only.
  process.umask(0o077);
  returnIdleMemory();
  const output = createOutput();
  const started: Started = {};
  const stopping = stopSignal(() => {
    started.services?.kill();
    started.broker?.kill();
    process.exit(1);
  });
  try {
    return await new Promise<number>((resolve, reject) => {
      stopping.addEventListener('abort', () => resolve(0));
      bringUp({ options, output, started, stopping, fatal: reject }).then((code) => {
        if (code !== undefined) resolve(code);
      }, reject);
    });
  } catch (error) {
    output.error(error instanceof AppError ? error.message : `Waypost failed: ${stackOf(error)}`);
    return 1;
  } finally {
    await stopAll(started);
  }
}

interface BringUp {
  options: SuperviseOptions;
  output: Output;
  started: Started;
  stopping: AbortSignal;
  fatal: (error: unknown) => void;
}

async function bringUp({
  options,
  output,
  started,
  stopping,
  fatal,
}: BringUp): Promise<number | undefined> {
  const { env, settings } = localSettings(options.env);
  if (!options.container) secureDataDir(settings.WAYPOST_DATA_DIR);
  const lock = takeLock(settings.WAYPOST_DATA_DIR);
  started.releaseLock = () => lock.release();
  const secrets = localSecrets(settings.WAYPOST_DATA_DIR, env);
  const ports = await choosePorts(settings, lock.takenOver ? LEFTOVERS_MS : 0);
  stopping.throwIfAborted();

  const kafka = await localKafka({
    settings,
    output,
    fatal,
    started: (kept) => {
      started.broker = kept;
    },
    stopping,
  });
  stopping.throwIfAborted();
  const serviceEnv = { ...env, ...secrets, ...kafkaEnvironment(kafka, settings), ...asText(ports) };
  await makeTopics(loadSettings(serviceEnv), stopping);
  stopping.throwIfAborted();

  // The warning comes only now: a start that is refused prints one sentence, which says why.
  const reason = outdatedNode();
  if (reason !== undefined) output.event('node.outdated', { reason });
  const healthPorts = Object.fromEntries(SERVICES.map((name) => [name, ports[healthPort(name)]]));
  const services = startServices({
    env: serviceEnv,
    output,
    entry: options.entry ?? processEntry,
    together: options.together ?? false,
    host: reachable(settings.WAYPOST_HOST),
    healthPorts: healthPorts as Record<ServiceName, number>,
  });
  started.services = services;
  await services.ready(stopping);
  stopping.throwIfAborted();
  const system: LocalSystem = {
    ingestUrl: urlOf(settings.WAYPOST_HOST, ports.WAYPOST_INGEST_PORT),
    controlUrl: urlOf(settings.WAYPOST_HOST, ports.WAYPOST_CONTROL_PORT),
    brokers: kafka.brokers,
    embedded: kafka.embedded,
    kafka: kafka.environment,
    healthPorts: healthPorts as Record<ServiceName, number>,
    adminToken: secrets.WAYPOST_ADMIN_TOKEN,
    settings,
    output,
  };
  sayWhere(system, env);
  return options.onReady(system, stopping);
}

/**
 * Records the addresses for the command line. Without a folder for them, as in a container whose
 * file system is read-only, everything else works.
 */
function sayWhere(
  { controlUrl, ingestUrl, embedded, kafka, healthPorts, settings, output }: LocalSystem,
  env: NodeJS.ProcessEnv,
): void {
  try {
    enterSystem(
      { env, home: homeFolder() },
      {
        dir: settings.WAYPOST_DATA_DIR,
        control: controlUrl,
        ingest: ingestUrl,
        embedded,
        kafka: { ...kafka, ...topicSettings(env) },
        health: healthPorts,
      },
    );
  } catch (error) {
    output.error(
      '`waypost` cannot use this system by itself, because the folder of its state cannot be ' +
        `written (${messageOf(error)}): set XDG_STATE_HOME to a folder of this user, for both, ` +
        'or give `waypost` WAYPOST_URL and WAYPOST_TOKEN.',
    );
  }
}

/** The settings by which topics get their names and their settings. */
const OF_TOPICS = [
  'WAYPOST_TOPIC_PREFIX',
  'WAYPOST_PARTITIONS',
  'WAYPOST_REPLICATION',
  'WAYPOST_TOPIC_RETENTION',
  'WAYPOST_RETRY_DELAYS',
  'WAYPOST_RETRY_WINDOW',
] as const;

/**
 * Returns those of them that are set. The demo sets some, of which a shell beside it knows nothing.
 */
function topicSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(OF_TOPICS.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/**
 * Creates the topics before the services start. Otherwise, at a first start, all services would
 * create them at the same time. On a busy machine Kafka may take longer than the client waits; the
 * next check then finds them.
 */
async function makeTopics(settings: Settings, stopping: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    stopping.throwIfAborted();
    try {
      const kafka = await connectKafka(settings, {
        clientId: 'supervisor',
        log: createLog('supervisor', 'silent'),
      });
      await kafka.close();
      return;
    } catch (error) {
      if (tries === TOPIC_TRIES) throw error;
    }
  }
}

function kafkaEnvironment(kafka: LocalKafka, settings: Settings): Record<string, string> {
  const replication = settings.WAYPOST_REPLICATION ?? (kafka.embedded ? 1 : undefined);
  return {
    ...kafka.environment,
    ...defined({
      WAYPOST_REPLICATION: replication === undefined ? undefined : String(replication),
    }),
  };
}

function asText(ports: Record<PortName, number>): Record<string, string> {
  return Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]));
}

async function stopAll(started: Started): Promise<void> {
  try {
    await started.services?.stop();
    await started.broker?.stop(BROKER_STOP_MS);
  } finally {
    started.releaseLock?.();
  }
}

/** An error other than AppError is a bug, and its stack helps to find it. */
function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
}
