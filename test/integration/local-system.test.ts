import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICES } from '../../bin/service-list';
import { isAlive } from '../../shared/runtime/process-id';
import { eventually } from '../support/eventually';
import {
  descendantIds,
  descendants,
  startSupervised,
  type Supervised,
} from '../support/supervised';
import { freePorts } from '../../dev/ports';
import { startSystem, systemEnv } from '../../tools/harness/system';

/** The commands that people type, with the real services. */

let dir: string;
let npm: Supervised | undefined;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'waypost-commands-'))));
afterEach(async () => {
  await npm?.end('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
});

test('a signal to npm alone stops all processes, and a second start has all data', async () => {
  const env = await systemEnv({ embedded: true, dataDir: dir, prefix: '' });
  npm = startSupervised('npm', ['start'], env);
  await npm.printed('waypost ready', 240_000);
  const below = descendants(npm.pid);
  const ids = descendantIds(npm.pid);
  for (const name of SERVICES) {
    expect(below.some(({ command }) => command.startsWith(`waypost-${name}`))).toBe(true);
  }
  expect(below.some(({ command }) => command === 'waypost')).toBe(true);

  // The printed commands run in a shell as they are. The port of their receiver may be taken here.
  const [port = 0] = await freePorts(1, '127.0.0.1');
  const [receive = '', ...send] = npm
    .output()
    .split('\n')
    .filter((line) => /^ +(node|export) /.test(line))
    .map((line) => line.replace(/\b3000\b/, String(port)));
  expect(send).toHaveLength(4);
  const receiver = startSupervised('sh', ['-c', `exec ${receive.trim()}`], {});
  const shell = startSupervised('sh', ['-ec', send.join('\n')], {});
  expect([await shell.exited, shell.output()]).toEqual([0, expect.stringContaining('First hook')]);
  await eventually(() => expect(receiver.output()).toContain('"event":"First Event"'));
  await receiver.end('SIGTERM');

  process.kill(npm.pid, 'SIGTERM');
  await npm.exited;
  await eventually(() => expect(ids.filter(isAlive)).toEqual([]));

  const system = await startSystem({ embedded: true, dataDir: dir, env });
  const { status, body } = await system.control('GET', '/sources');
  expect([status, body.data.map(({ name }: { name: string }) => name)]).toEqual([
    200,
    ['First source'],
  ]);
  expect(await system.stop()).toBe(0);
}, 600_000);

test('in npm run demo every call arrives signed, and the refused one is retried', async () => {
  const env = await systemEnv({ dataDir: dir, prefix: `demo-${String(process.pid)}.` });
  const demo = startSupervised('npm', ['run', 'demo', '--', '--once'], env);
  expect([await demo.exited, demo.output()]).toEqual([
    0,
    expect.stringContaining('14 of 14 POSTs arrived, 14 with both'),
  ]);
  expect(demo.output()).toContain('came back: attempt 2, same webhook-id');
  // It has ended: nobody can send it a call, or end it.
  expect(demo.output()).not.toMatch(/Send a call yourself|Ctrl-C/);
}, 600_000);

test('an unknown option is refused, and --help starts nothing', async () => {
  const outcome = async (...args: string[]) => {
    const command = startSupervised(process.execPath, ['dist/bin/main.js', ...args], {});
    return [await command.exited, command.output().split(/[.:]/)[0]];
  };
  expect(await outcome('demo', '--help')).toEqual([0, 'Usage']);
  expect(await outcome('start', '--togther')).toEqual([1, 'Unknown option']);
});

test.each([
  { args: ['--help'], code: 0, says: 'Name some of ingest, router' },
  { args: [], code: 1, says: 'No service was named' },
  { args: ['nothing'], code: 1, says: 'There is no service "nothing"' },
  { args: ['router'], code: 1, says: 'KAFKA_BROKERS is not set' },
])(
  'the image, which has no npm scripts, answers $args without naming one',
  async ({ args, code, says }) => {
    const command = startSupervised(process.execPath, ['dist/bin/main.js', 'service', ...args], {
      WAYPOST_DATA_DIR: dir,
    });
    expect([await command.exited, command.output()]).toEqual([code, expect.stringContaining(says)]);
    expect(command.output()).not.toMatch(/\bnpm\b/);
  },
);
