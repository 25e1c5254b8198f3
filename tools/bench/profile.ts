import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

/**
 * Loaded into a service by NODE_OPTIONS (`--cpu-prof` is not allowed there): profiles its CPU from its start, and
 * writes the profile, for Chrome's developer tools, when it ends.
 */

/** This file, for `--require`. */
export const PROFILE_MAIN = __filename;
/** The variable that names the folder. Its name does not begin with WAYPOST_, where unknown settings are mistakes. */
export const PROFILE_DIR = 'BENCH_PROFILE_DIR';

const INTERVAL_US = 500;

function profile(dir: string): void {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: INTERVAL_US });
  session.post('Profiler.start');
  process.once('exit', () => {
    session.post('Profiler.stop', (error, result) => {
      if (error) return;
      mkdirSync(dir, { recursive: true });
      writeFileSync(join(dir, `${process.title}-${String(process.pid)}.cpuprofile`), JSON.stringify(result.profile));
    });
  });
}

const dir = process.env[PROFILE_DIR];
if (dir) profile(dir);
