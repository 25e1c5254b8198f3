import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Tells one process from a later one that was given the same pid: by the time it started. A lock or a pid file that
 * holds both outlives any crash without ever meaning a stranger.
 */

/** A process, told apart from all others before and after it on this machine. */
export interface ProcessId {
  pid: number;
  /** as the operating system tells it; compared, never read */
  started: string;
}

/** This process. */
export function ownId(): ProcessId {
  return { pid: process.pid, started: startOf(process.pid) ?? 'unknown' };
}

/** The process that has this pid now, or undefined where there is none. */
export function processId(pid: number): ProcessId | undefined {
  const started = startOf(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Whether this very process still runs. One that ended and was not yet reaped does not. */
export function isAlive(id: ProcessId): boolean {
  return startOf(id.pid) === id.started;
}

/** Reads `{pid, started}` from the text of a file, or undefined where it holds something else. */
export function parseProcessId(text: string): ProcessId | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('started' in value)) return undefined;
    const { pid, started } = value;
    return typeof pid === 'number' && pid > 0 && typeof started === 'string' ? { pid, started } : undefined;
  } catch {
    return undefined;
  }
}

function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

/** Field 22 of /proc/<pid>/stat counts from the boot, so the boot is named too. The name, field 2, may hold spaces. */
function startFromProc(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return `${bootId()}/${fields[19] ?? ''}`;
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const options = { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' }, stdio: 'pipe' } as const;
    const [state = '', ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], options)
      .trim()
      .split(/\s+/);
    return state === '' || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
