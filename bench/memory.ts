import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Memory by process, from the operating system: what is resident. */

const KB_PER_MB = 1_024;

/** MB by process; of pid 0, which is not on this machine, nothing. */
export function residents(pids: Readonly<Record<string, number>>): Record<string, number> {
  const known = Object.entries(pids).filter(([, pid]) => pid > 0);
  return Object.fromEntries(known.map(([name, pid]) => [name, residentMb(pid)]));
}

function residentMb(pid: number): number {
  const kb =
    process.platform === 'linux'
      ? statusKb(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))
      : Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));
  return kb / KB_PER_MB;
}

/** VmRSS of /proc/<pid>/status. NaN where there is none. */
export function statusKb(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN);
}
