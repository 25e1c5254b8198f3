import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Ending, ending, type RunningProgram } from './child-process';

/**
 * Runs a program that knows nothing of us so that it ends when this process does, however that comes, `kill -9` included.
 *
 * The program gets a watcher beside it, a shell that reads a pipe from this process. Nobody ever writes there: the read
 * ends when this process does, and then the watcher ends the program. Both are in a process group of their own, out of
 * reach of the terminal's signals; the program is our direct child, since the shell that made the watcher becomes it.
 */

/**
 * A background job of `sh` gets /dev/null as its stdin unless told otherwise, hence the detour over descriptor 3. The
 * services have 3 s to drain without their supervisor (shared/service/run.ts) and want the broker meanwhile.
 */
const SCRIPT = `
exec 3<&0
(
  cat <&3
  sleep 3
  kill -TERM $$
  for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $$ || exit; sleep 1; done
  kill -KILL $$
) >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null
`;

/**
 * Starts a command under watch.
 * @param output file descriptor that gets its stdout and stderr
 */
export async function startDyingWithParent(command: string, args: string[], output: number): Promise<RunningProgram> {
  const child = spawn('sh', ['-c', SCRIPT, 'waypost-watch', command, ...args], {
    detached: true,
    stdio: ['pipe', output, output],
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => {
      endGroup(child);
      resolve(ending(code, signal));
    });
  });
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  return { pid, ended, stop: (deadlineMs) => stop(child, ended, deadlineMs), kill: () => endGroup(child) };
}

async function stop(child: ChildProcess, ended: Promise<unknown>, deadlineMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  await ended;
  clearTimeout(force);
}

/**
 * Kills what is left of the group. After the program that is its watcher, which would else signal a pid that is no longer
 * the program's; the group's own number is not given out again as long as the watcher is in it.
 */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
