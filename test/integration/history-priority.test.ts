import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { constants, getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { lowerPriority } from '../../dev/nice';
import { ROOT } from '../../shared/runtime/repo-root';
import { copyHistoryFiles } from '../support/history-files';

/** The embedded database shares the machine with the other services. */

const PGLITE = join(ROOT, 'dist', 'services', 'control', 'history', 'pglite.js');
const OPEN = `
  require(${JSON.stringify(PGLITE)}).openPglite(process.argv[1]).then(() => console.log('open'));
  process.stdin.on('end', () => process.exit(0)).resume();`;

const onLinux = process.platform === 'linux' ? test : test.skip;

// Elsewhere a priority belongs to the process.
onLinux('its thread is five steps below control, also where control is lowered later', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-priority-'));
  copyHistoryFiles(folder);
  const child = spawn(process.execPath, ['-e', OPEN, join(folder, 'history')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  try {
    await once(child.stdout, 'data');
    const pid = child.pid ?? 0;
    const own = getPriority(pid);
    const below = (steps: number) => Math.min(constants.priority.PRIORITY_LOW, own + steps);
    const lowest = () =>
      Math.max(...readdirSync(`/proc/${String(pid)}/task`).map((id) => getPriority(Number(id))));
    expect(lowest()).toBe(below(5));
    // As `npm start` does once control is ready.
    expect(lowerPriority(pid)).toBeUndefined();
    expect([getPriority(pid), lowest()]).toEqual([below(10), below(15)]);
  } finally {
    child.stdin.end();
    await once(child, 'exit');
    rmSync(folder, { recursive: true });
  }
});
