import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WrongClocks } from '../../../tools/chaos/wrong-clocks';

/** Says how far its clocks are ahead of the one that never jumps, whenever that changes. */
const CHILD = `
  const rightMs = () => performance.timeOrigin + performance.now();
  let said = NaN;
  setInterval(() => {
    const hours = [Date.now(), new Date().getTime(), Number(new Date(0)) + rightMs()]
      .map((ms) => Math.round((ms - rightMs()) / 3_600_000)).join();
    if (hours !== said) console.log(said = hours);
  }, 10);`;

test('the clock of a process jumps, and is right again', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-clocks-'));
  const clocks = new WrongClocks(join(dir, 'clocks'));
  const env = { ...process.env, ...clocks.env };
  const child = spawn(process.execPath, ['-e', CHILD], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => (await lines.next()).value as string;
  try {
    expect(await next()).toBe('0,0,0');
    clocks.set(child.pid!, -7_200_000);
    expect(await next()).toBe('-2,-2,0');
    clocks.setRight(child.pid!);
    expect(await next()).toBe('0,0,0');
  } finally {
    child.kill();
    rmSync(dir, { recursive: true });
  }
});
