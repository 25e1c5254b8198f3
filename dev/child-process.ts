import { type ChildProcess } from 'node:child_process';

/** The supervisor's view of everything it runs: Kafka, a container or a service. */

/** The end of a program. */
export interface Ending {
  /** undefined if a signal ended it, or if the code is unknown */
  code?: number;
  /** for people: "exit code 1", "SIGKILL" */
  text: string;
}

/** A started program. */
export interface RunningProgram {
  /** resolves when it has ended; never rejects */
  ended: Promise<Ending>;
  /** Asks it to end, and kills it after `deadlineMs`. Resolves when it has ended. */
  stop(deadlineMs: number): Promise<void>;
  /** Kills it now. */
  kill(): void;
}

/** A program that is a process of this machine. */
export interface RunningProcess extends RunningProgram {
  pid: number;
}

/** Sends a signal to a child, and SIGKILL after the deadline. Resolves as `ended` does. */
export async function endChild<T>(
  child: ChildProcess,
  ended: Promise<T>,
  { signal = 'SIGTERM', deadlineMs }: { signal?: NodeJS.Signals; deadlineMs: number },
): Promise<T> {
  child.kill(signal);
  const force = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  try {
    return await ended;
  } finally {
    clearTimeout(force);
  }
}

/** Describes how a child process ended. */
export function ending(code: number | null, signal: string | null): Ending {
  return code === null
    ? { text: signal ?? 'unknown' }
    : { code, text: `exit code ${String(code)}` };
}
