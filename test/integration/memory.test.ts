import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';
import { startProgram } from '../support/child-program';

/** Two processes of a service, each with a program in a file, because `node -e` itself uses `node:vm`. */

/** Works for a moment, and then waits. */
const IDLE = `
  new (require(process.argv[2]).HostProcess)(['router']);
  const kept = Array.from({ length: 300_000 }, (_, i) => ({ i }));
  setInterval(() => kept, 1_000);
`;
/** Node 24 and 26 do not do so without the call; Node 20 and 22 do. */
const DEADLINE_MS = 200_000;

/** Makes 5 MB of short-lived objects a second, so that V8 does not take it for idle, after 48 MB of buffers became old and died. */
const BUSY = `
  new (require(process.argv[2]).HostProcess)(['router']);
  let buffers = Array.from({ length: 480 }, () => Buffer.alloc(100_000));
  for (let i = 0; i < 3; i++) gc({ type: 'minor' });
  buffers = undefined;
  setInterval(() => Array.from({ length: 2_500 }, (_, i) => ({ i })), 20);
  setInterval(() => console.log('holds', Math.round(process.memoryUsage().arrayBuffers / 1e6), 'MB'), 500);
`;

const FLAGS = ['--trace-gc', '--expose-gc', '--max-semi-space-size=16', '--initial-old-space-size=256'];

const dir = mkdtempSync(join(tmpdir(), 'waypost-memory-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function run(name: string, program: string) {
  const file = join(dir, `${name}.js`);
  writeFileSync(file, program);
  return startProgram(process.execPath, [...FLAGS, file, join(ROOT, 'dist/shared/service/host-process.js')]);
}

test('V8 collects all objects, and returns free pages, once a process has little to do', async () => {
  const idle = run('idle', IDLE);
  await idle.printed(/Mark-Compact \(reduce\)/, DEADLINE_MS);
  await idle.stop();
});

test('a busy process frees dead buffers that V8 would keep', async () => {
  const busy = run('busy', BUSY);
  await busy.printed(/holds [45]\d MB/);
  await busy.printed(/holds \d MB/);
  await busy.stop();
});
