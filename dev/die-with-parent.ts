import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { endChild, type Ending, ending, type RunningProcess } from './child-process';
import { javaEnvironment } from './process-environment';

/**
 * Runs a Java program that ends when this process does, even after `kill -9`, without its
 * cooperation.
 *
 * The program has a watcher beside it, a shell that reads a pipe from this process. Nothing ever
 * writes to the pipe: the read ends when this process does, and then the watcher ends the program.
 * Both are in a separate process group, out of reach of the terminal's signals. The program is our
 * direct child, because the shell that started the watcher becomes it.
 */

/**
 * A background job of `sh` gets /dev/null as its stdin by default, so the pipe takes a detour over
 * descriptor 3. Without their supervisor the services have 3 s to drain
 * (shared/runtime/host-process.ts), and need the broker until then.
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
 * Starts a command with a watcher.
 * @param output file descriptor that gets its stdout and stderr
 */
export async function startDyingWithParent(
  command: string,
  args: string[],
  output: number,
): Promise<RunningProcess> {
  const child = spawn('sh', ['-c', SCRIPT, 'waypost-watch', command, ...args], {
    detached: true,
    env: javaEnvironment(),
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
  return {
    pid,
    ended,
    stop: async (deadlineMs) => {
      await endChild(child, ended, { deadlineMs });
    },
    kill: () => endGroup(child),
  };
}

/**
 * Kills the rest of the group. After the program ends, only its watcher is left, which could signal
 * a reused pid. The group's own number is not reused as long as the watcher is in it.
 */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
