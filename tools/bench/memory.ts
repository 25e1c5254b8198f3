import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Memory by process, from the operating system: what is resident. */

const KB_PER_MB = 1_024;
const SAMPLE_MS = 1_000;

/** MB by process; of pid 0, which is not on this machine, nothing. */
export function residents(pids: Readonly<Record<string, number>>): Record<string, number> {
  const known = Object.entries(pids).filter(([, pid]) => pid > 0);
  return Object.fromEntries(known.map(([name, pid]) => [name, residentMb(pid)]));
}

/** What a process holds, MB: resident, and of that what is its own and no page of a file. */
export interface Memory {
  rssMb: number;
  /** NaN where the system does not tell */
  ownMb: number;
}

function memoryOf(pid: number): Memory {
  if (process.platform !== 'linux') return { rssMb: residentMb(pid), ownMb: NaN };
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return { rssMb: statusKb(status) / KB_PER_MB, ownMb: statusKb(status, 'RssAnon') / KB_PER_MB };
}

/** The most memory that a process has had since it was last asked. */
export class MemoryWatch {
  #most: Memory = { rssMb: 0, ownMb: 0 };
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly pid: number) {
    this.#timer = setInterval(() => this.#look(), SAMPLE_MS);
  }

  next(): Memory {
    this.#look();
    const most = this.#most;
    this.#most = { rssMb: 0, ownMb: 0 };
    return most;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    try {
      const { rssMb, ownMb } = memoryOf(this.pid);
      this.#most = { rssMb: Math.max(rssMb, this.#most.rssMb), ownMb: Math.max(ownMb, this.#most.ownMb) };
    } catch {
      // It has ended: the measurement says so.
    }
  }
}

function residentMb(pid: number): number {
  const kb =
    process.platform === 'linux'
      ? statusKb(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))
      : Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));
  return kb / KB_PER_MB;
}

/** VmRSS, or another line, of /proc/<pid>/status. NaN where there is none. */
export function statusKb(status: string, name = 'VmRSS'): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? NaN);
}
