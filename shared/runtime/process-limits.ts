import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** Reads the limits that this process has from its system. */

export interface ProcessLimits {
  /** of its container, or else of the machine */
  memoryBytes: number;
  /** Infinity if unlimited or unknown */
  openFiles: number;
}

export function readProcessLimits(): ProcessLimits {
  // Without a limit it is 0 or, in some versions of Node, larger than any memory.
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { memoryBytes, openFiles: openFilesOf(limitsFile()) };
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

function limitsFile(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    // Only Linux has it.
    return '';
  }
}
