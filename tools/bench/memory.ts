import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Reads the resident memory of processes from the operating system. */

const KB_PER_MB = 1_024;
const SAMPLE_MS = 1_000;

/** Returns MB by process; skips pid 0, which is not on this machine. */
export function residents(pids: Readonly<Record<string, number>>): Record<string, number> {
  const known = Object.entries(pids).filter(([, pid]) => pid > 0);
  return Object.fromEntries(known.map(([name, pid]) => [name, residentMb(pid)]));
}

/** The memory of a process, MB: resident, and the part of it that is not a page of a file. */
export interface Memory {
  rssMb: number;
  /** NaN if the system does not report it */
  ownMb: number;
}

function memoryOf(pid: number): Memory {
  if (process.platform !== 'linux') return { rssMb: residentMb(pid), ownMb: NaN };
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return { rssMb: statusKb(status) / KB_PER_MB, ownMb: statusKb(status, 'RssAnon') / KB_PER_MB };
}

/** Tracks the largest memory of a process between two queries. */
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
      // The process has ended: the measurement reports that.
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

/** Returns VmRSS, or another line, of /proc/<pid>/status. NaN if it is missing. */
export function statusKb(status: string, name = 'VmRSS'): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? NaN);
}
