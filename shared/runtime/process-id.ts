import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Distinguishes a process from a later one with the same pid by its start time. A lock or a pid
 * file with both survives any crash and never refers to another process.
 */

/** A process, unique among all processes of this machine, past and future. */
export interface ProcessId {
  pid: number;
  /** as the operating system reports it; compared, never parsed */
  started: string;
}

/** Returns the id of this process. */
export function ownId(): ProcessId {
  return { pid: process.pid, started: startOf(process.pid) ?? 'unknown' };
}

/** Returns the process that has this pid now, or undefined. */
export function processId(pid: number): ProcessId | undefined {
  const started = startOf(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Returns whether exactly this process still runs. A zombie does not. */
export function isAlive(id: ProcessId): boolean {
  return startOf(id.pid) === id.started;
}

/** Parses `{pid, started}` from the text of a file; undefined for any other content. */
export function parseProcessId(text: string): ProcessId | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('pid' in value) || !('started' in value)) {
      return undefined;
    }
    const { pid, started } = value;
    return typeof pid === 'number' && pid > 0 && typeof started === 'string'
      ? { pid, started }
      : undefined;
  } catch {
    return undefined;
  }
}

function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

/**
 * Field 22 of /proc/<pid>/stat counts from boot, so the boot id is added. The name, field 2, may
 * contain spaces.
 */
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
    const options = {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: 'pipe',
    } as const;
    const [state = '', ...started] = execFileSync(
      'ps',
      ['-o', 'stat=,lstart=', '-p', String(pid)],
      options,
    )
      .trim()
      .split(/\s+/);
    return state === '' || state.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}
