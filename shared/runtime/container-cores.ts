import { readFileSync } from 'node:fs';

/** Returns how many cores the limit of its container allows this process (cgroup v2). */
export function coresOfContainer(path = '/sys/fs/cgroup/cpu.max'): number {
  try {
    return coresOf(readFileSync(path, 'utf8'));
  } catch {
    // It runs in no container.
    return Infinity;
  }
}

/** @param text CPU time, or "max" without a limit, and the period in which it may be used, µs */
export function coresOf(text: string): number {
  const [quota, period] = text.trim().split(' ').map(Number);
  const cores = (quota ?? NaN) / (period ?? NaN);
  return cores > 0 ? cores : Infinity;
}
