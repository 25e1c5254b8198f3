import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { promisify } from 'node:util';
import { compact } from '../../shared/collections/defined';
import { sleep } from '../../shared/runtime/async';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { kafkaAddress, waitForKafka } from '../../shared/kafka/client/connection';
import { loadSettings } from '../../shared/runtime/settings';
import { isAlive, parseProcessId, processId } from '../../shared/runtime/process-id';
import { storedPorts } from '../stored-ports';
import {
  type BrokerPorts,
  brokerProperties,
  javaArguments,
  loggingProperties,
  newClusterId,
  propertiesText,
  SHORT_LIVED,
} from './broker-config';
import { type ClassArchive, classArchive, makeClassArchive } from './class-archive';
import { propertiesFile, recordsOf, requireNoVolume } from './broker-folder';
import { type BrokerLogin, brokerLogin, clientSettings, formatArguments } from './broker-login';
import { startDyingWithParent } from '../die-with-parent';
import { lowerPriority } from '../nice';
import { javaEnvironment } from '../process-environment';
import { type Ending, type RunningProgram } from '../child-process';

/**
 * A real Apache Kafka as one process of this machine, with its records in one folder. The next
 * start finds the same records and, if they are still free, the same ports. Two brokers never run
 * on one folder.
 */

/** The inputs of a broker. */
export interface BrokerOptions {
  /** its folder; created if missing */
  dir: string;
  java: string;
  /** the folder of the jars (kafka-jars.ts) */
  jars: string;
  /** properties that override the defaults, for tests */
  properties?: Record<string, string>;
  /** for tests: without a login, open to every process of the machine */
  open?: boolean;
  /** more arguments of its JVM */
  jvmArguments?: string[];
}

/** A started broker. It is usable once `ready` has resolved. */
export interface Broker extends RunningProgram {
  /** host:port */
  address: string;
  /** the settings with which a service connects to it */
  environment: Record<string, string>;
  /** undefined in a container */
  pid?: number;
  /** @throws AppError `cannot_start` if it ends first, or is not usable after `deadlineMs` */
  ready(deadlineMs: number): Promise<void>;
  /**
   * Makes the next start faster (class-archive.ts): takes ten seconds of a core, once.
   * @param isUrgent false: only of what the other processes leave
   */
  archiveClasses(isUrgent: boolean): Promise<void>;
  /** Freezes it until `resume`. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Ends it and deletes its records. */
  discard(): Promise<void>;
}

/** A stale broker writes its state on SIGTERM; after this time it is killed. */
export const STALE_STOP_MS = 15_000;
/** For a JVM of low priority to start, and to write its archive. */
const ARCHIVE_MS = 180_000;

/**
 * Starts the broker of a folder. It first ends a broker that a killed supervisor left there.
 * @throws AppError `cannot_start` if its records are in a container's volume, or the folder cannot
 *   be formatted
 */
export async function launchBroker(options: BrokerOptions): Promise<Broker> {
  const { dir } = options;
  requireNoVolume(dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  await endStale(dir);
  const login = options.open ? undefined : brokerLogin(dir, existsSync(recordsOf(dir)));
  const ports = await storedPorts(dir);
  writeFileSync(join(dir, 'log4j2.properties'), loggingProperties(join(dir, 'kafka.log')));
  const archive = await classArchive(options.java, options.jars);
  await format(options, ports, { login, archive });
  writeProperties(dir, {
    ...brokerProperties({ ports, logDir: recordsOf(dir), login }),
    ...options.properties,
  });

  const output = openSync(join(dir, 'kafka.out'), 'w');
  const java = [
    ...javaArguments(options.jars, join(dir, 'log4j2.properties')),
    ...(options.jvmArguments ?? archive.use()),
    'kafka.Kafka',
    propertiesFile(dir),
  ];
  const program = await startDyingWithParent(options.java, java, output).finally(() =>
    closeSync(output),
  );
  writeFileSync(pidFile(dir), JSON.stringify(processId(program.pid) ?? {}));

  const address = `127.0.0.1:${String(ports.broker)}`;
  const environment = clientSettings(address, login);
  const signal = (name: NodeJS.Signals) => {
    kill(program.pid, name);
    return Promise.resolve();
  };
  return {
    ...program,
    address,
    environment,
    ready: (deadlineMs) => readyUnlessEnded(program.ended, { environment, dir, deadlineMs }),
    archiveClasses: (isUrgent) => archiveClasses(options, archive, isUrgent),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    discard: async () => {
      await program.stop(0);
      rmSync(recordsOf(dir), { recursive: true, force: true });
    },
  };
}

/** Lets another broker start and stop, whose JVM writes the archive at its end. */
function archiveClasses(
  { java, jars }: BrokerOptions,
  archive: ClassArchive,
  isUrgent: boolean,
): Promise<void> {
  return makeClassArchive(archive, async (dir, jvmArguments) => {
    const broker = await launchBroker({ dir, java, jars, jvmArguments, open: true });
    if (!isUrgent && broker.pid !== undefined) lowerPriority(broker.pid);
    await broker.ready(ARCHIVE_MS).finally(() => broker.stop(ARCHIVE_MS));
  });
}

/**
 * @throws AppError `cannot_start` if the broker ends before it is usable, or is not usable after
 *   `deadlineMs`
 */
export async function readyUnlessEnded(
  ended: Promise<Ending>,
  where: { environment: Record<string, string>; dir: string; deadlineMs: number },
): Promise<void> {
  const giveUp = new AbortController();
  const died = ended.then((how) => {
    giveUp.abort();
    throw new AppError(
      'cannot_start',
      `The embedded Kafka ended at its start (${how.text}); see ${join(where.dir, 'kafka.log')}.`,
    );
  });
  await Promise.race([
    waitForKafka(kafkaAddress(loadSettings(where.environment)), where.deadlineMs, giveUp.signal),
    died,
  ]);
}

/**
 * Ends the broker whose pid file is in the folder. The file holds its start time, so that it never
 * ends another process.
 */
async function endStale(dir: string): Promise<void> {
  const id = existsSync(pidFile(dir))
    ? parseProcessId(readFileSync(pidFile(dir), 'utf8'))
    : undefined;
  if (!id || !isAlive(id)) return;
  kill(id.pid, 'SIGTERM');
  const until = performance.now() + STALE_STOP_MS;
  while (isAlive(id)) {
    if (performance.now() > until) kill(id.pid, 'SIGKILL');
    await sleep(50);
  }
}

/**
 * Kafka formats its folder once. It formats a folder with another name and then renames it, so that
 * a partial one never counts.
 */
async function format(
  options: BrokerOptions,
  ports: BrokerPorts,
  { login, archive }: { login: BrokerLogin | undefined; archive: ClassArchive },
): Promise<void> {
  const { dir } = options;
  if (existsSync(recordsOf(dir))) return;
  const unfinished = `${recordsOf(dir)}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  writeProperties(dir, brokerProperties({ ports, logDir: unfinished, login }));
  const users = join(dir, 'format-arguments');
  if (login) writeFileSync(users, formatArguments(login), { mode: 0o600 });
  const java = [
    SHORT_LIVED,
    ...javaArguments(options.jars, join(dir, 'log4j2.properties')),
    ...archive.use(),
  ];
  const tool = compact([
    'kafka.tools.StorageTool',
    'format',
    '-t',
    newClusterId(),
    '-c',
    propertiesFile(dir),
    login ? `@${users}` : undefined,
  ]);
  try {
    await promisify(execFile)(options.java, [...java, ...tool], { env: javaEnvironment() });
  } catch (error) {
    throw new AppError(
      'cannot_start',
      `The folder of the embedded Kafka could not be prepared: ${messageOf(error)}`,
    );
  } finally {
    rmSync(users, { force: true });
  }
  renameSync(unfinished, recordsOf(dir));
}

/** The properties hold passwords. */
function writeProperties(dir: string, properties: Record<string, string>): void {
  writeFileSync(propertiesFile(dir), propertiesText(properties), { mode: 0o600 });
}

const pidFile = (dir: string) => join(dir, 'broker.pid');
