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

  // The printed commands run in a shell without changes.
  const commands = npm
    .output()
    .split('\n')
    .filter((line) => /^ +(KEY=|curl )/.test(line));
  expect(commands).toHaveLength(2);
  const shell = startSupervised('sh', ['-c', commands.join('\n')], {});
  expect(await shell.exited).toBe(0);
  expect(shell.output()).toBe('{"success":true}');

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
}, 600_000);
