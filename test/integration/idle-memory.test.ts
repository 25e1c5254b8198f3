import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';
import { startProgram } from '../support/child-program';

/** Works for a moment, and then waits. A file, because `node -e` itself uses `node:vm`. */
const PROGRAM = `
  require(process.argv[2]).returnIdleMemory();
  const kept = Array.from({ length: 300_000 }, (_, i) => ({ i }));
  setInterval(() => kept, 1_000);
`;
/** Node 24 and 26 do not do so without the call; Node 20 and 22 do. */
const DEADLINE_MS = 200_000;

const dir = mkdtempSync(join(tmpdir(), 'waypost-idle-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test('V8 collects all objects, and returns free pages, once a process has little to do', async () => {
  const program = join(dir, 'idle.js');
  writeFileSync(program, PROGRAM);
  const flags = ['--trace-gc', '--max-semi-space-size=16', '--initial-old-space-size=256'];
  const idle = startProgram(process.execPath, [
    ...[...flags, program],
    join(ROOT, 'dist/shared/service/idle-memory.js'),
  ]);
  await idle.printed(/Mark-Compact \(reduce\)/, DEADLINE_MS);
  await idle.stop();
});
