/** What the supervisor sees of everything it runs, be it Kafka, a container or a service. */

/** How a program ended. */
export interface Ending {
  /** undefined where a signal ended it, or where there is no code to know */
  code?: number;
  /** for people: "exit code 1", "SIGKILL" */
  text: string;
}

/** A program that was started. */
export interface RunningProgram {
  pid: number;
  /** resolves when it has ended; never rejects */
  ended: Promise<Ending>;
  /** Asks it to end, and makes it end after `deadlineMs`. Resolves when it has. */
  stop(deadlineMs: number): Promise<void>;
  /** Makes it end now. */
  kill(): void;
}

/** The ending that a child process reports. */
export function ending(code: number | null, signal: string | null): Ending {
  return code === null ? { text: signal ?? 'unknown' } : { code, text: `exit code ${String(code)}` };
}
