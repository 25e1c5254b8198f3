import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { sum } from '../bench/arithmetic';
import { clockMs } from './timing';

/**
 * Reads CPU time and memory of processes from the operating system. CPU time is user and system
 * time of all threads.
 */

/** Linux reports hundredths of a second to user space, on every architecture that Node supports. */
const TICKS_PER_SECOND = 100;
const KB_PER_MB = 1_024;

/** A reading of the CPU time of processes. */
export interface CpuReading {
  atMs: number;
  /** seconds since their start */
  byName: Record<string, number>;
  /**
   * seconds that all cores have worked, for any process; undefined if the system does not report it
   */
  machine: number | undefined;
  /** seconds that the cores worked for other machines, if this one is virtual */
  stolen: number | undefined;
}

/** The CPU use between two readings. */
export interface CpuUse {
  /** wall clock */
  seconds: number;
  /** CPU-seconds */
  byName: Record<string, number>;
  /** cores used by processes without a name here; undefined if the system does not report it */
  foreignCores: number | undefined;
  /** cores used by other machines; stolen time also makes CPU times longer */
  stolenCores: number | undefined;
}

/** @param pids processes by the name in the report; 0: not on this machine, left out */
export function readCpu(pids: Readonly<Record<string, number>>): CpuReading {
  const known = Object.entries(pids).filter(([, pid]) => pid > 0);
  const stat = process.platform === 'linux' ? readFileSync('/proc/stat', 'utf8') : undefined;
  return {
    atMs: clockMs(),
    byName: Object.fromEntries(known.map(([name, pid]) => [name, cpuSeconds(pid)])),
    machine: stat === undefined ? undefined : busySeconds(stat),
    stolen: stat === undefined ? undefined : stolenSeconds(stat),
  };
}

/** Pure. */
export function cpuBetween(from: CpuReading, to: CpuReading): CpuUse {
  const seconds = (to.atMs - from.atMs) / 1000;
  const byName = Object.fromEntries(
    Object.entries(to.byName).map(([name, used]) => [name, used - (from.byName[name] ?? 0)]),
  );
  const cores = (before: number | undefined, after: number | undefined, ours: number) =>
    before === undefined || after === undefined || seconds <= 0
      ? undefined
      : Math.max(0, (after - before - ours) / seconds);
  return {
    seconds,
    byName,
    foreignCores: cores(from.machine, to.machine, sum(Object.values(byName))),
    stolenCores: cores(from.stolen, to.stolen, 0),
  };
}

function cpuSeconds(pid: number): number {
  if (process.platform === 'linux') {
    return statSeconds(readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
  }
  return psSeconds(execFileSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' }));
}

/**
 * Returns utime and stime of /proc/<pid>/stat, fields 14 and 15. The name, field 2, may contain
 * spaces.
 */
export function statSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Parses the output of `ps`: [[hours:]minutes:]seconds, with hundredths on macOS. */
export function psSeconds(time: string): number {
  return time
    .trim()
    .split(':')
    .reduce((total, part) => total * 60 + Number(part), 0);
}

export function busySeconds(stat: string): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = machineTicks(stat);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

export function stolenSeconds(stat: string): number {
  return (machineTicks(stat)[8] ?? 0) / TICKS_PER_SECOND;
}

/**
 * Parses the first line of /proc/stat: its name, user nice system idle iowait irq softirq steal.
 */
function machineTicks(stat: string): number[] {
  return stat.split('\n', 1)[0]?.split(/ +/).map(Number) ?? [];
}

/** Returns MB by process; skips pid 0, which is not on this machine. */
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

/** Returns VmRSS of /proc/<pid>/status. NaN if it is missing. */
export function statusKb(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? NaN);
}
