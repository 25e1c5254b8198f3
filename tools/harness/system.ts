import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PORTS } from '../../deploy/standalone/local-settings';
import { type ServiceName } from '../../deploy/standalone/service-list';
import { Final } from '../../test/support/eventually';
import { freePorts } from '../../test/support/free-port';
import { copyHistoryFiles } from '../../test/support/history-files';
import { descendants, startSupervised } from '../../test/support/supervised';

/**
 * The whole system for a test: the real supervisor with the real services, separated from other tests by topic
 * prefix, data dir and ports.
 */

export interface SystemOptions {
  /** settings that override the defaults below */
  env?: Record<string, string>;
  /** starts a separate broker instead of sharing the test run's */
  embedded?: boolean;
  /** the data dir of an earlier system, with the same `prefix` if the broker is shared; `stop` keeps it */
  dataDir?: string;
  prefix?: string;
  deadlineMs?: number;
}

export interface Source {
  id: string;
  writeKey: string;
}

export interface Destination {
  id: string;
  webhooks: { id: string }[];
}

/** Any response body: each test asserts its own shape. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the only place; a type here would be unchecked
export type Json = any;

/** A parsed response of an API. */
export interface Answer {
  status: number;
  body: Json;
  headers: Headers;
}

export interface System {
  ingestUrl: string;
  controlUrl: string;
  adminToken: string;
  prefix: string;
  dataDir: string;
  env: Record<string, string>;
  /** host:port of its Kafka, embedded or not */
  brokers: string;
  /** the supervisor's */
  pid: number;
  /** the processes of a service: one, or none between its end and its restart */
  pids(name: ServiceName): number[];
  /** Calls the control API as administrator, with `path` relative to /api/v1. */
  control(method: string, path: string, body?: unknown): Promise<Answer>;
  createSource(name?: string): Promise<Source>;
  /** Enabled by default. */
  createDestination(fields: {
    sources: string[];
    webhooks: { url: string; headers?: Record<string, string> }[];
    [key: string]: unknown;
  }): Promise<Destination>;
  /** POSTs to ingest as a client does, e.g. `send(key, 'track', {…})`. */
  send(writeKey: string, path: string, body: unknown): Promise<Answer>;
  kill(name: ServiceName, signal?: NodeJS.Signals): void;
  /**
   * Sends SIGTERM to the supervisor. Resolves with its exit code after it has ended; removes its data dir unless it
   * was given.
   */
  stop(): Promise<number | string>;
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
    ['--enable-source-maps', 'dist/deploy/bin/main.js', 'start'],
    env,
  );
  const stop = async () => {
    const code = await supervised.end('SIGTERM');
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    return code;
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
  const control = (method: string, path: string, body?: unknown) =>
    call(method, `${controlUrl}/api/v1${path}`, { authorization: `Bearer ${adminToken}` }, body);
  const pids = (name: ServiceName) =>
    descendants(supervised.pid)
      .filter(({ command }) => command.startsWith(`waypost-${name}`) || command.endsWith(`services/${name}/main.js`))
      .map(({ pid }) => pid);

  return {
    ingestUrl,
    controlUrl,
    adminToken,
    prefix,
    dataDir,
    env,
    brokers,
    pid: supervised.pid,
    pids,
    control,
    createSource: async (name = 'A source') => created(await control('POST', '/sources', { name })),
    createDestination: async (fields) =>
      created(
        await control('POST', '/destinations', {
          name: 'A destination',
          type: 'webhooks',
          enabled: true,
          ...fields,
          webhooks: fields.webhooks.map((webhook) => ({ headers: {}, ...webhook })),
        }),
      ),
    send: (writeKey, path, body) =>
      call(
        'POST',
        `${ingestUrl}/v1/${path}`,
        { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}` },
        body,
      ),
    kill: (name, signal = 'SIGKILL') => {
      for (const pid of pids(name)) kill(pid, signal);
    },
    stop,
    output: () => supervised.output(),
  };
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
  const shared = Object.entries(process.env).filter(([name]) => name.startsWith('KAFKA_')) as [string, string][];
  return {
    ...(options.embedded
      ? {}
      : { ...Object.fromEntries(shared), WAYPOST_TOPIC_PREFIX: options.prefix, WAYPOST_REPLICATION: '1' }),
    ...Object.fromEntries(PORTS.map((name, i) => [name, String(ports[i]!)])),
    WAYPOST_DATA_DIR: options.dataDir,
    WAYPOST_PARTITIONS: '3',
    WAYPOST_RETRY_DELAYS: '200ms,500ms,1s',
    ...options.env,
  };
}

export async function call(
  method: string,
  url: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    // Control has the lowest priority, and a machine under test is busy.
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, body: parsed(text), headers: response.headers };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function created(answer: Answer): Json {
  if (answer.status !== 201) throw new Final(`status ${answer.status} instead of 201: ${JSON.stringify(answer.body)}`);
  return answer.body;
}
