import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Output } from './output';
import { type ProcessName } from '../bin/service-list';
import { lowerPriority } from './nice';
import { endChild, type Ending, ending, type RunningProcess } from './child-process';
import { serviceEnvironment } from './process-environment';

/**
 * Runs one service, or all of them, as a process. It has its own session, so that the terminal's
 * Ctrl-C reaches only the supervisor, and one end of an IPC channel, so that it notices every kind
 * of end of the supervisor.
 */

/**
 * Objects that a process allocates while it delivers live for milliseconds (see
 * shared/collections/compacting-map.ts and shared/runtime/collect-garbage.ts).
 * - Collecting a young generation of 16 MB takes 5 ms, one of 64 MB takes 20 ms, and a collection
 *   pauses the service.
 * - With 64 MB from the start, V8 collects the old generation once in minutes at 440 calls a
 *   second. Otherwise it begins at the few MB that such a process needs, and collects it once a
 *   second.
 * - With pretenuring, V8 would allocate long-lived kinds of objects as old: at a slow start, that
 *   is every kind.
 * - The collector has no helper threads: four threads that share a few milliseconds of work cost a
 *   tenth of the CPU, and save no time if other services need the cores.
 * package.json's `service`, the Dockerfile and docs/operations/running.md have the same flags.
 */
const NODE_FLAGS = [
  '--enable-source-maps',
  '--max-semi-space-size=16',
  '--initial-old-space-size=64',
  '--no-allocation-site-pretenuring',
  '--single-threaded-gc',
];

/**
 * All threads of a process allocate from one arena of glibc. Otherwise each thread has its own,
 * which keeps what it has freed: 27 MB in delivery, 43 in the supervisor. Other threads allocate
 * little, so they seldom wait for its lock. package.json and the Dockerfile set the same variable.
 */
const ONE_ARENA = { MALLOC_ARENA_MAX: '1' };

/**
 * Control reads every call and every attempt, keeps little of them, and no other process waits for
 * its collector. So V8 collects its old objects from 48 MB on. Without these settings it once grew
 * to 611 MB in ten minutes of 440 calls a second, 300 MB of which glibc had taken at some time.
 * With these variables a buffer of 64 KB or more, as each read of a socket takes, has separate
 * pages, which return to the system at once. The chart and docker-compose.yml set the same
 * variables.
 */
const FRUGAL: Partial<Record<ProcessName, { flags: readonly string[]; env: NodeJS.ProcessEnv }>> = {
  control: {
    flags: ['--initial-old-space-size=48'],
    env: { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' },
  },
};

/**
 * These services are on no message's path: on shared cores, a late history harms less than a late
 * delivery. They get a low priority only after their start, because a start waits for all services.
 */
const GIVE_WAY: readonly ProcessName[] = ['control'];

/** A started service. */
export interface ServiceProcess extends RunningProcess {
  /** returns whether it has reported that it is up */
  started(): boolean;
  /**
   * returns its stderr from before it was up, which is not printed: the sentence with which it
   * refused to start
   */
  complaint(): string;
}

/**
 * Starts `entry`, a file with its arguments, under the name of a service, with this environment
 * except for the secrets of other services.
 */
export async function startService(options: {
  name: ProcessName;
  entry: readonly string[];
  env: NodeJS.ProcessEnv;
  output: Output;
}): Promise<ServiceProcess> {
  const { name, entry, env, output } = options;
  const frugal = FRUGAL[name];
  // Node uses the last value of a repeated flag.
  const child = spawn(process.execPath, [...NODE_FLAGS, ...(frugal?.flags ?? []), ...entry], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...ONE_ARENA, ...frugal?.env, ...serviceEnvironment(name, env) },
  });
  let started = false;
  const early: string[] = [];
  child.on('message', (message) => {
    if (typeof message !== 'object' || !('type' in message) || message.type !== 'started') return;
    started = true;
    for (const line of early.splice(0)) output.error(line);
    if (!GIVE_WAY.includes(name)) return;
    const why = lowerPriority(child.pid ?? 0);
    if (why !== undefined) output.event('priority.unchanged', { name, why });
  });
  const ended = new Promise<Ending>((resolve) => {
    // `close` follows the end of its output: the last line is often the reason.
    child.once('close', (code, signal) => resolve(ending(code, signal)));
  });
  if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => output.log(line));
  if (child.stderr) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (started) output.error(line);
      else early.push(line);
    });
  }
  await once(child, 'spawn');
  return {
    pid: child.pid ?? 0,
    ended,
    started: () => started,
    complaint: () => early.join('\n'),
    stop: async (deadlineMs) => {
      await endChild(child, ended, { deadlineMs });
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}
