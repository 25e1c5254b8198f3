import { type Readable } from 'node:stream';

/** What a command sees of the process that it runs in, so that tests can give another. */
export interface ProcessContext {
  env: Record<string, string | undefined>;
  cwd: string;
  home: string;
  /** standard output: what was asked for */
  out(text: string): void;
  /** standard error: all that is said beside it */
  err(text: string): void;
  /** standard output is a terminal */
  terminal: boolean;
  stdin: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  /** Ctrl-C, SIGTERM. Who asks for it ends by it; a command that does not is ended at once. */
  stop: AbortSignal;
}

/** Exit codes: 0 done, and what follows. */
export const FAILED = 1;
export const USAGE = 2;

/** One plain sentence for the person at the terminal, that says what to do. */
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

/** It was called wrongly. */
export function usage(message: string): CliError {
  return new CliError(message, USAGE);
}
