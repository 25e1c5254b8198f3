import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '../../services/control/history/pglite';

/** The embedded database shares the machine with the other services. */

const onLinux = process.platform === 'linux' ? test : test.skip;

// Elsewhere a priority belongs to the process.
onLinux('its thread is five steps below control, whatever the priority of control is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-priority-'));
  const own = getPriority();
  const lowest = () => Math.max(...readdirSync('/proc/self/task').map((id) => getPriority(+id)));
  expect(lowest()).toBe(own);
  const database = await openPglite(folder);
  expect(lowest()).toBe(Math.min(19, own + 5));
  await database.close();
  rmSync(folder, { recursive: true });
});
