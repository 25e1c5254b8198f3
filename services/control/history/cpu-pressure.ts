import { cpus } from 'node:os';

/**
 * Detects whether other processes need the cores of this machine, so that work without urgency can
 * wait. A low priority is not enough: its share of CPU is small, but the work it causes elsewhere
 * (a broker reads, a disk writes) runs at the priority of those processes.
 */

/** CPU time so far, ms: total, used by all processes, and used by this process. */
export interface CoreTimes {
  all: number;
  used: number;
  own: number;
}

/** Above this share the other processes would get less than they need. */
const FULL = 0.9;
const EVERY_MS = 500;

/** Returns the share of all cores that other processes used between two samples, 0 to 1. */
export function shareOfOthers(from: CoreTimes, to: CoreTimes): number {
  const all = to.all - from.all;
  const others = to.used - from.used - (to.own - from.own);
  return all > 0 ? Math.min(1, Math.max(0, others / all)) : 0;
}

/**
 * @returns whether the other processes used all cores, measured over half a second or more between
 *   two calls
 */
export function watchCpuPressure(
  readTimes: () => CoreTimes = coreTimes,
  now: () => number = () => performance.now(),
): () => boolean {
  let from = readTimes();
  let fromAt = now();
  let full = false;
  return () => {
    if (now() - fromAt < EVERY_MS) return full;
    const to = readTimes();
    full = shareOfOthers(from, to) >= FULL;
    [from, fromAt] = [to, now()];
    return full;
  };
}

function coreTimes(): CoreTimes {
  const { user: ownUser, system: ownSystem } = process.cpuUsage();
  const times = { all: 0, used: 0, own: (ownUser + ownSystem) / 1_000 };
  for (const { times: core } of cpus()) {
    const used = core.user + core.nice + core.sys + core.irq;
    times.used += used;
    times.all += used + core.idle;
  }
  return times;
}
