import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { compact } from '../../shared/collections/defined';

/**
 * Loaded into each thread of a service by NODE_OPTIONS (which does not allow `--cpu-prof`):
 * profiles its CPU from its start, and at its end writes the profile for Chrome's developer tools.
 */

/** This file, for `--require`. */
export const PROFILE_MAIN = __filename;
/**
 * The variable that names the folder. Unknown variables that begin with WAYPOST_ are errors, so it
 * does not.
 */
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
      const name = compact([process.title, process.pid, threadId > 0 ? threadId : undefined]).join(
        '-',
      );
      writeFileSync(join(dir, `${name}.cpuprofile`), JSON.stringify(result.profile));
    });
  });
}

const dir = process.env[PROFILE_DIR];
if (dir) profile(dir);
