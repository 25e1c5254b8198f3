import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../harness/timing';
import { type Counts } from './counters';

/**
 * Counts what processes do between two moments: each service by counters.ts, and each process, the
 * broker too, by what Linux counts. It takes no time, so that it says the same on a busy machine.
 */

/** By the name of the process. */
export type Ledger = Record<string, Counts>;

/** Other threads wait for each other too, and on a busy machine more often. */
export const MAIN_THREAD_WAKE_UPS = 'wake-ups of the main thread';

const ANSWER_MS = 10_000;
const POLL_MS = 5;

/** @param pids processes by name; those without counters.ts have only the counts of Linux */
export async function readCounts(
  dir: string,
  pids: Readonly<Record<string, number>>,
): Promise<Ledger> {
  const ledger: Ledger = {};
  for (const [name, pid] of Object.entries(pids)) {
    ledger[name] = { ...(await countsOf(dir, pid)), ...readProc(pid) };
  }
  return ledger;
}

/** A process without counters.ts would end at the signal. */
async function countsOf(dir: string, pid: number): Promise<Counts> {
  const environment = readFileSync(`/proc/${String(pid)}/environ`, 'utf8');
  if (!environment.includes(dir)) return {};
  const file = join(dir, `${String(pid)}.json`);
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  const isWritten = await until(() => existsSync(file), POLL_MS, ANSWER_MS);
  if (!isWritten) throw new Error(`process ${String(pid)} has not written its counts`);
  return JSON.parse(readFileSync(file, 'utf8')) as Counts;
}

/**
 * A thread that waits gives up its core by itself, so that these switches of its context are its
 * wake-ups. Linux counts read, write and their like among the system calls of a process.
 */
function readProc(pid: number): Counts {
  const tasks = `/proc/${String(pid)}/task`;
  const wakeUpsOf = (task: string) =>
    numberIn(readIfThere(join(tasks, task, 'status')), 'voluntary_ctxt_switches');
  const io = readIfThere(`/proc/${String(pid)}/io`);
  return {
    'wake-ups': readdirSync(tasks).reduce((sum, task) => sum + wakeUpsOf(task), 0),
    [MAIN_THREAD_WAKE_UPS]: wakeUpsOf(String(pid)),
    'reads and writes': numberIn(io, 'syscr') + numberIn(io, 'syscw'),
    'bytes read': numberIn(io, 'rchar'),
    'bytes written': numberIn(io, 'wchar'),
  };
}

/** A thread may have ended since it was listed. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the number in a line "name: number"; 0 without it. */
export function numberIn(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

/** Returns what was done between two readings, for each of `units` calls or seconds. Pure. */
export function between(from: Ledger, to: Ledger, units: number): Ledger {
  return Object.fromEntries(
    Object.entries(to).map(([process, counts]) => {
      const each = Object.entries(counts).map(([name, count]): [string, number] => {
        return [name, (count - (from[process]?.[name] ?? 0)) / units];
      });
      return [process, Object.fromEntries(each.filter(([, count]) => count !== 0))];
    }),
  );
}
