import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** Reads the limits that this process has from its system. */

export interface ProcessLimits {
  /** of its container, or else of the machine */
  memoryBytes: number;
  /** Infinity if unlimited or unknown */
  openFiles: number;
  /** of its container (cgroup v2); Infinity if unlimited or in no container */
  cores: number;
}

export function readProcessLimits(): ProcessLimits {
  // Without a limit it is 0 or, in some versions of Node, larger than any memory.
  const constrained = process.constrainedMemory();
  return {
    memoryBytes: constrained > 0 ? Math.min(constrained, totalmem()) : totalmem(),
    openFiles: openFilesOf(textOf('/proc/self/limits')),
    cores: coresOf(textOf('/sys/fs/cgroup/cpu.max')),
  };
}

/**
 * Returns the limits of one service of a process. Of a shared process, a third of the files is for
 * ingest's clients, a third for delivery's endpoints, and a third for all else: a flood of one kind
 * must leave the brokers and the others theirs.
 */
export function limitsOfService(limits: ProcessLimits, isShared: boolean): ProcessLimits {
  return isShared ? { ...limits, openFiles: Math.floor(limits.openFiles / 3) } : limits;
}

/**
 * @param limits content of /proc/self/limits. Node raises the soft limit, the first number, to the
 *   hard one.
 */
export function openFilesOf(limits: string): number {
  const [, files] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return files === undefined ? Infinity : Number(files);
}

/** @param text CPU time, or "max" without a limit, and the period in which it may be used, µs */
export function coresOf(text: string): number {
  const [quota, period] = text.trim().split(' ').map(Number);
  const cores = (quota ?? NaN) / (period ?? NaN);
  return cores > 0 ? cores : Infinity;
}

/** Returns the text of a file that not every system has. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
