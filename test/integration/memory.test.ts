import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';
import { startProgram } from '../support/child-program';

/**
 * Two processes of a service, each with a program in a file, because `node -e` itself uses
 * `node:vm`.
 */

/** Works for a moment, and then waits. */
const IDLE = `
  new (require(process.argv[2]).HostProcess)(['router']);
  const kept = Array.from({ length: 300_000 }, (_, i) => ({ i }));
  setInterval(() => kept, 1_000);
`;
/** Node 24 and 26 do not do so without the call; Node 20 and 22 do. */
const DEADLINE_MS = 200_000;

/**
 * Makes at least 800 MB of objects, and keeps the last 60 MB of them, so that they become old. It
 * works for eleven seconds, in which a process looks at its memory twice.
 */
const BUSY = `
  new (require(process.argv[2]).HostProcess)(['router']);
  const living = [];
  let most = 0;
  (async () => {
    for (let made = 0; made < 4_000 || performance.now() < 11_000; made++) {
      living.push(Array.from({ length: 2_000 }, (_, i) => ({ i, made, id: String(i) })));
      if (living.length > 300) living.shift();
      most = Math.max(most, process.memoryUsage().heapUsed);
      if (made % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    console.log('held at most', Math.round(most / 1e6), 'MB');
  })();
  setInterval(() => living, 1_000);
`;

/**
 * With a limit of 4 GB, V8 by default collects old objects at up to four times the live ones, on a
 * small machine too.
 */
const FLAGS = [
  '--trace-gc',
  '--max-semi-space-size=16',
  '--initial-old-space-size=64',
  '--max-old-space-size=4096',
];

const dir = mkdtempSync(join(tmpdir(), 'waypost-memory-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function run(name: string, program: string) {
  const file = join(dir, `${name}.js`);
  writeFileSync(file, program);
  return startProgram(process.execPath, [
    ...FLAGS,
    file,
    join(ROOT, 'dist/shared/runtime/host-process.js'),
  ]);
}

test('V8 collects all objects and returns pages once a process has little to do', async () => {
  const idle = run('idle', IDLE);
  await idle.printed(/Mark-Compact \(reduce\)/, DEADLINE_MS);
  await idle.stop();
});

test('a busy process holds few dead objects, and never asks for a full collection', async () => {
  const busy = run('busy', BUSY);
  await busy.printed(/held at most 1?\d\d MB/);
  // V8 names the reason of a collection by `gc()` "testing", also if it finishes a collection in
  // steps.
  expect(busy.output()).toMatch(/testing/);
  expect(busy.output()).not.toMatch(/Mark-Compact(?!.* steps ).*testing/);
  await busy.stop();
});
