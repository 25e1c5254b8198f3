import { cpus } from 'node:os';

/**
 * Whether others need the cores of this machine: who can wait lets them go first. A low priority is not enough for that: its
 * share is small, but what is done for it elsewhere (a broker reads, a disk writes) has the priority of those who do it.
 */

/** CPU time so far, ms: of all cores, of it what was used by anybody, and by this process. */
export interface CoreTimes {
  all: number;
  used: number;
  own: number;
}

/** Beyond it others get less than they would take. */
const FULL = 0.9;
const EVERY_MS = 500;

/** What others have used of all cores between two looks, 0 to 1. */
export function shareOfOthers(from: CoreTimes, to: CoreTimes): number {
  const all = to.all - from.all;
  const others = to.used - from.used - (to.own - from.own);
  return all > 0 ? Math.min(1, Math.max(0, others / all)) : 0;
}

/** @returns whether others had all cores for themselves, as of the last half second or more between two questions */
export function watchCpuPressure(
  look: () => CoreTimes = coreTimes,
  now: () => number = () => performance.now(),
): () => boolean {
  let from = look();
  let fromAt = now();
  let full = false;
  return () => {
    if (now() - fromAt < EVERY_MS) return full;
    const to = look();
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
