import { type Readable } from 'node:stream';

/** The parts of the process that a command uses, so that tests can replace them. */
export interface ProcessContext {
  env: Record<string, string | undefined>;
  cwd: string;
  home: string;
  /** standard output: the result */
  out(text: string): void;
  /** standard error: everything else */
  err(text: string): void;
  /** standard output is a terminal */
  terminal: boolean;
  stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  /**
   * Ctrl-C, SIGTERM. A command that reads this handles the signal; any other command is ended
   * immediately.
   */
  stop: AbortSignal;
}

/** Exit codes: 0 for success, and these. */
export const FAILED = 1;
export const USAGE = 2;

/** One plain sentence for the person at the terminal, with the remedy. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode: typeof FAILED | typeof USAGE = FAILED,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = 'CliError';
  }
}

/** Wrong usage. */
export function usage(message: string): CliError {
  return new CliError(message, USAGE);
}
