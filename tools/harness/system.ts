import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEngine } from '../../dev/kafka/container-engine';
import { PORTS } from '../../dev/local-settings';
import { processEntry, type ProcessName } from '../../bin/service-list';
import { compact, defined } from '../../shared/collections/defined';
import { findSystem } from '../../shared/runtime/local-systems';
import { isAlive } from '../../shared/runtime/process-id';
import { eventually } from '../../test/support/eventually';
import { freePorts } from '../../test/support/free-port';
import { copyHistoryFiles } from '../../test/support/history-files';
import { descendantIds, descendants, startSupervised } from '../../test/support/supervised';
import { type Api, apiOf } from './api';

/**
 * The whole system for a test: the real supervisor with the real services, separated from other
 * tests by topic prefix, data dir and ports.
 */

export interface SystemOptions {
  /** settings that override the defaults below */
  env?: Record<string, string>;
  /** starts a separate broker instead of sharing the test run's */
  embedded?: boolean;
  /**
   * the data dir of an earlier system, with the same `prefix` if the broker is shared; `stop` keeps
   * it
   */
  dataDir?: string;
  prefix?: string;
  /** runs all services in one process */
  together?: boolean;
  deadlineMs?: number;
}

export interface System extends Api {
  ingestUrl: string;
  controlUrl: string;
  adminToken: string;
  prefix: string;
  dataDir: string;
  /** the environment that it was started with */
  startedWith: Record<string, string>;
  /** the environment of its services, with their Kafka and its login */
  env: Record<string, string>;
  /** host:port of its Kafka, embedded or not */
  brokers: string;
  /** the supervisor's */
  pid: number;
  /**
   * the process of a service, which may be the one of all services; none between its end and its
   * restart
   */
  pids(name: ProcessName): number[];
  kill(name: ProcessName, signal?: NodeJS.Signals): void;
  /**
   * Sends SIGTERM to the supervisor. Resolves with its exit code after it has ended; removes its
   * data dir unless it was given.
   */
  stop(): Promise<number | string>;
  /**
   * Ends it faster, for tests that do not look at its end: kills all of its processes, and removes
   * its data dir unless it was given. With a broker of its own it stops, because a container engine
   * may run it.
   */
  discard(): Promise<void>;
  /** all output so far */
  output(): string;
}

const READY_MS = 180_000;

/**
 * Starts a system and waits for `waypost ready`.
 * @throws with its output if it does not get there
 */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'waypost-system-'));
  const prefix = options.prefix ?? `t${randomBytes(5).toString('hex')}.`;
  const env = await systemEnv({ ...options, dataDir, prefix });
  copyHistoryFiles(dataDir);
  const supervised = startSupervised(
    process.execPath,
    compact([
      '--enable-source-maps',
      'dist/bin/main.js',
      'start',
      options.together ? '--together' : undefined,
    ]),
    env,
  );
  const stop = async () => {
    const code = await supervised.end('SIGTERM');
    if (options.dataDir === undefined) await removeData(dataDir);
    return code;
  };
  const discard = async () => {
    if (options.embedded) {
      await stop();
      return;
    }
    const services = descendantIds(supervised.pid);
    await supervised.end('SIGKILL');
    for (const { pid } of services) kill(pid, 'SIGKILL');
    await eventually(() => {
      if (services.some(isAlive)) throw new Error('a service outlives SIGKILL');
    });
    if (options.dataDir === undefined) await removeData(dataDir);
  };
  try {
    await supervised.printed('waypost ready', options.deadlineMs ?? READY_MS);
  } catch (error) {
    await stop();
    throw error;
  }

  const ingestUrl = `http://127.0.0.1:${env.WAYPOST_INGEST_PORT!}`;
  const controlUrl = `http://127.0.0.1:${env.WAYPOST_CONTROL_PORT!}`;
  const brokers = /^ +kafka +(\S+)/m.exec(supervised.output())?.[1] ?? '';
  const adminToken = /admin token +(\S+)/.exec(supervised.output())?.[1] ?? '';
  const pids = (name: ProcessName) =>
    descendants(supervised.pid)
      .filter(({ command }) => runsService(name, command))
      .map(({ pid }) => pid);

  return {
    ingestUrl,
    controlUrl,
    adminToken,
    prefix,
    dataDir,
    startedWith: env,
    env: { ...env, ...findSystem({ env, home: '' }, dataDir)?.kafka },
    brokers,
    pid: supervised.pid,
    pids,
    ...apiOf({ ingestUrl, controlUrl, adminToken }),
    kill: (name, signal = 'SIGKILL') => {
      for (const pid of pids(name)) kill(pid, signal);
    },
    stop,
    discard,
    output: () => supervised.output(),
  };
}

/**
 * Returns whether a process runs a service, alone or with all others. `ps` shows the entry until
 * the process has set its title. Pure.
 * @param command as `ps` shows it
 */
export function runsService(name: ProcessName, command: string): boolean {
  const title = command.split(' ', 1)[0];
  if (title === `waypost-${name}` || title === 'waypost-all') return true;
  return [name, 'all' as const].some((each) => command.endsWith(processEntry(each).join(' ')));
}

/**
 * Deletes a data dir, and the records of its broker if they are in the volume of a container
 * engine.
 */
export async function removeData(dataDir: string): Promise<void> {
  const volume = join(dataDir, 'kafka', 'volume');
  if (existsSync(volume)) {
    const engine = await findEngine(() => undefined);
    await engine.removeVolume(readFileSync(volume, 'utf8').trim());
  }
  rmSync(dataDir, { recursive: true, force: true });
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended after it was listed.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns the settings of a system in a test: separate ports, few partitions, short delays. */
export async function systemEnv(
  options: Pick<SystemOptions, 'env' | 'embedded'> & { dataDir: string; prefix: string },
): Promise<Record<string, string>> {
  if (!options.embedded && !process.env.KAFKA_BROKERS) {
    throw new Error('KAFKA_BROKERS is not set: does global-setup.ts run before this test?');
  }
  const ports = await freePorts(PORTS.length);
  const shared = Object.entries(process.env).filter(([name]) => name.startsWith('KAFKA_')) as [
    string,
    string,
  ][];
  const { WAYPOST_KAFKA } = process.env;
  return {
    ...defined({ WAYPOST_KAFKA: WAYPOST_KAFKA || undefined }),
    ...(options.embedded
      ? {}
      : {
          ...Object.fromEntries(shared),
          WAYPOST_TOPIC_PREFIX: options.prefix,
          WAYPOST_REPLICATION: '1',
        }),
    ...Object.fromEntries(PORTS.map((name, i) => [name, String(ports[i]!)])),
    WAYPOST_DATA_DIR: options.dataDir,
    XDG_STATE_HOME: join(options.dataDir, 'state'),
    WAYPOST_PARTITIONS: '3',
    WAYPOST_RETRY_DELAYS: '200ms,500ms,1s',
    ...options.env,
  };
}
