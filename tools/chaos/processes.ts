import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type ProcessLine } from '../../test/support/supervised';

/** Finds processes without blocking, because the endpoints respond from the same event loop. */

const run = promisify(execFile);

/** Returns the children of a process: the supervisor itself starts all of its processes. */
export async function below(parent: number): Promise<ProcessLine[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=,args='], {
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout.split('\n').flatMap((line) => {
    const [, pid, ppid, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    const found = { pid: Number(pid), ppid: Number(ppid), command: command ?? '' };
    return found.ppid === parent ? [found] : [];
  });
}
