import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Output } from './output';
import { type ServiceName } from './service-list';
import { lowerPriority } from './nice';
import { type Ending, ending, type RunningProgram } from './child-process';

/**
 * One service as a process of its own. It is in a session of its own, so that the terminal's Ctrl-C reaches the
 * supervisor alone, and holds one end of an IPC channel, so that it sees the supervisor go however that happens.
 */

/**
 * What a process allocates while it delivers lives for milliseconds (docs/design/decisions/0025-short-lived-maps.md).
 * - A young generation of 16 MB is collected in 5 ms, one of 64 in 20, and nobody is served meanwhile.
 * - Where the old one may have 256 MB from the start it is collected once in minutes; else V8 begins at the few that such a
 *   process needs, and does it once a second.
 * - V8 would make old at once what it has seen live long: at a start, where all is slow, that is everything.
 * - A collector without helpers: four threads that divide a few milliseconds among them cost a tenth of the CPU, and make
 *   nothing quicker where other services want the cores.
 * package.json's `service`, the Dockerfile and docs/operations/running.md have the same.
 */
const NODE_FLAGS = [
  '--enable-source-maps',
  '--max-semi-space-size=16',
  '--initial-old-space-size=256',
  '--no-allocation-site-pretenuring',
  '--single-threaded-gc',
];

/**
 * They are on no message's path: where all share the cores, a history that lags harms nobody, a late delivery does. Not before
 * they are up: who starts a system waits for all of it.
 */
const GIVE_WAY: readonly ServiceName[] = ['control'];

/** A service that was started. */
export interface ServiceProcess extends RunningProgram {
  /** whether it has said that it is up */
  started(): boolean;
  /** what it said on stderr before it was up, which is not shown: the sentence with which it refused to start */
  complaint(): string;
}

/** Starts `main` under the name of a service, with exactly this environment. */
export async function startService(options: {
  name: ServiceName;
  main: string;
  env: NodeJS.ProcessEnv;
  output: Output;
}): Promise<ServiceProcess> {
  const { name, main, env, output } = options;
  const child = spawn(process.execPath, [...NODE_FLAGS, main], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env,
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
    // `close` comes when its output has been read to the end: the last line is often the reason.
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
      child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
      await ended;
      clearTimeout(force);
    },
    kill: () => {
      child.kill('SIGKILL');
    },
  };
}
