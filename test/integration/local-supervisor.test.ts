import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PORTS } from '../../dev/local-settings';
import { isAlive, processId } from '../../shared/runtime/process-id';
import { eventually } from '../support/eventually';
import { freePort, freePorts } from '../support/free-port';
import {
  descendants,
  processes,
  startSupervised,
  startWithStubs,
  type Supervised,
} from '../support/supervised';

/** The supervisor from outside, with stub services. */

/** A broker starts, too, perhaps on a busy machine. */
const READY_MS = 120_000;

let dir: string;
let env: Record<string, string>;
let supervised: Supervised | undefined;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-supervisor-'));
  const ports = await freePorts(PORTS.length);
  env = {
    WAYPOST_DATA_DIR: join(dir, 'data'),
    XDG_STATE_HOME: join(dir, 'state'),
    WAYPOST_PARTITIONS: '1',
    WAYPOST_RETRY_DELAYS: '1s',
    ...Object.fromEntries(PORTS.map((name, i) => [name, String(ports[i]!)])),
  };
});
afterEach(async () => {
  await supervised?.end('SIGKILL');
  await eventually(() => expect(ours()).toEqual([]));
  rmSync(dir, { recursive: true, force: true });
});

/**
 * Lists processes on the data dir of this test: the command lines of broker and stubs name its
 * files.
 */
const ours = () => processes().filter(({ command }) => command.includes(dir));
const shared = () => ({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: 'local-supervisor.',
  WAYPOST_REPLICATION: '1',
});
const stubs = (more: NodeJS.ProcessEnv = {}, programs = {}) =>
  (supervised = startWithStubs(join(dir, 'stubs'), { ...env, ...more }, programs));
const startReal = (more: NodeJS.ProcessEnv = {}) =>
  (supervised = startSupervised(process.execPath, ['dist/bin/main.js', 'start'], {
    ...env,
    ...more,
  }));

/** Checks that the system exits with 1 and prints no stack trace. @returns its output */
async function refusal(system: Supervised): Promise<string> {
  expect(await system.exited).toBe(1);
  expect(system.output()).not.toMatch(/^\s+at /m);
  return system.output();
}

describe('with its own broker', () => {
  test('a start after SIGKILL waits for processes left behind, and stops in order', async () => {
    const first = stubs();
    await first.printed('waypost ready', READY_MS);
    // The watcher of the broker outlives it by a moment, and holds nothing that the second start
    // needs.
    const below = descendants(first.pid)
      .filter(({ command }) => !command.includes('waypost-watch'))
      .flatMap(({ pid }) => processId(pid) ?? []);
    process.kill(first.pid, 'SIGKILL');
    await first.exited;

    // Processes of the first start are still ending.
    const second = stubs();
    await second.printed('waypost ready', READY_MS);
    expect(below.filter(isAlive)).toEqual([]);

    second.child.kill('SIGINT');
    expect(await second.exited).toBe(0);
    // The watcher of the broker outlives it by a moment.
    await eventually(() => expect(ours()).toEqual([]));
    const lines = second
      .output()
      .split('\n')
      .filter((line) => line.endsWith(' stops'));
    expect(lines.slice(0, 2).sort()).toEqual(['control stops', 'ingest stops']);
    expect(lines.at(-1)).toBe('delivery stops');
  }, 300_000);
});

describe('with an existing broker', () => {
  test('the supervisor restarts a service that dies, and refuses a second start', async () => {
    const system = stubs(shared());
    await system.printed('waypost ready');
    const router = () =>
      descendants(system.pid).find(({ command }) => command.startsWith('waypost-router'));
    const before = router()!;
    process.kill(before.pid, 'SIGKILL');
    await eventually(() => expect(router()!.pid).not.toBe(before.pid));

    const other = startReal(shared());
    expect(await refusal(other)).toContain(
      `Another Waypost (pid ${String(system.pid)}) uses the data dir`,
    );
    supervised = system;

    // Two signals in quick succession count as one.
    system.child.kill('SIGTERM');
    system.child.kill('SIGINT');
    expect(await system.exited).toBe(0);
  });

  test('control has a lower priority than other services, also after a restart', async () => {
    const system = stubs(shared());
    await system.printed('waypost ready');
    const pid = (name: string) =>
      descendants(system.pid).find(({ command }) => command.startsWith(`waypost-${name}`))?.pid ??
      0;
    const before = pid('control');
    await eventually(() =>
      expect(getPriority(before)).toBeGreaterThan(getPriority(pid('delivery'))),
    );
    process.kill(before, 'SIGKILL');
    await eventually(() => expect([0, before]).not.toContain(pid('control')));
    await eventually(() =>
      expect(getPriority(pid('control'))).toBeGreaterThan(getPriority(pid('delivery'))),
    );
    expect(getPriority(pid('delivery'))).toBe(getPriority(system.pid));
    system.child.kill('SIGTERM');
    expect(await system.exited).toBe(0);
  });

  test('a service that cannot start ends the start with its own error', async () => {
    const refuses = `process.stderr.write('waypost-retry: this cannot work\\n'); process.exit(1);`;
    const text = await refusal(stubs(shared(), { retry: refuses }));
    expect(text.split('\n')).toContain('waypost-retry: this cannot work');
  });

  test('the supervisor reports ready only once every service is ready', async () => {
    const slow = `
      process.title = 'waypost-router';
      const from = Date.now();
      const port = process.env.WAYPOST_ROUTER_HEALTH_PORT;
      require('node:http')
        .createServer((request, response) =>
          response.writeHead(Date.now() - from > 1500 ? 200 : 503).end('{}'))
        .listen(port, '127.0.0.1', () => process.send({ type: 'started' }));
      process.on('disconnect', () => process.exit(0));`;
    const from = Date.now();
    const system = stubs(shared(), { router: slow });
    await system.printed('waypost ready');
    expect(Date.now() - from).toBeGreaterThan(1500);
  });
});

describe('a refused start prints one sentence about', () => {
  test('a busy port, before anything is started', async () => {
    const server = createServer().listen(Number(env.WAYPOST_INGEST_PORT), '127.0.0.1');
    await once(server, 'listening');
    const text = await refusal(startReal()).finally(() => server.close());
    expect(text.trim()).toMatch(
      /^Port \d+ \(WAYPOST_INGEST_PORT\) on 127\.0\.0\.1 is in use: .*\.$/,
    );
  });

  test('all invalid settings', async () => {
    const text = await refusal(
      startReal({ WAYPOST_TIMEOUT: 'soon', WAYPOST_PARTITIONS: '0', WAYPOST_PORT: '1' }),
    );
    for (const name of ['WAYPOST_TIMEOUT', 'WAYPOST_PARTITIONS', 'WAYPOST_PORT']) {
      expect(text).toContain(name);
    }
  });

  test('a data dir that other users can write', async () => {
    const open = join(dir, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    const text = await refusal(startReal({ WAYPOST_DATA_DIR: open }));
    expect(text.trim()).toMatch(/^Other users can write the data dir .*chmod go-w .*\.$/);
    expect(readdirSync(open)).toEqual([]);
  });

  test('a missing container engine', async () => {
    const text = await refusal(
      startReal({ WAYPOST_KAFKA: 'container', DOCKER_HOST: 'unix:///nowhere.sock' }),
    );
    expect(text.trim()).toMatch(/^No container engine answers \(Docker or podman\): .*\.$/);
  });

  test('an unreachable broker', async () => {
    const address = `127.0.0.1:${String(await freePort())}`;
    const text = await refusal(startReal({ KAFKA_BROKERS: address }));
    expect(text.trim()).toMatch(
      new RegExp(`^Kafka cannot be reached at ${address}: .*KAFKA_BROKERS.*\\.$`),
    );
  });

  test.each([
    [['service'], /^No service was named.*ingest, router/],
    [['service', 'shipping'], /^There is no service "shipping".*ingest, router/],
    [['begin'], /^Usage: start .*service NAME/],
  ])('the arguments %j', async (args, sentence) => {
    const text = await refusal(
      startSupervised(process.execPath, ['dist/bin/main.js', ...args], {}),
    );
    expect(text).toMatch(sentence);
  });
});

test('a start without a folder for its state goes on, and says what `waypost` needs', async () => {
  // A file is in its place, so that root cannot create it either.
  writeFileSync(join(dir, 'file'), '');
  const system = stubs({ ...shared(), XDG_STATE_HOME: join(dir, 'file') });
  await system.printed('waypost ready');
  expect(system.output()).toMatch(
    /cannot be written \(.*\): set XDG_STATE_HOME .* WAYPOST_URL and WAYPOST_TOKEN\./,
  );
});

test('a clean stop removes the lock and keeps the secrets', async () => {
  const system = stubs(shared());
  await system.printed('waypost ready');
  system.child.kill('SIGHUP');
  expect(await system.exited).toBe(0);
  const data = env.WAYPOST_DATA_DIR!;
  expect(() => readdirSync(join(data, 'owner'))).toThrow('ENOENT');
  expect(readFileSync(join(data, 'admin-token'), 'utf8').trim().length).toBeGreaterThanOrEqual(32);
});
