import { parseArgs, type ParseArgsConfig } from 'node:util';

/**
 * Runs the program of a tool, and exits: with 0 if it returns true, else with 1. It prints an
 * error. An open pool or pipe does not delay the exit.
 */
export function runMain(main: () => Promise<boolean>): void {
  // A process that a signal ends emits no `exit`, so its children would keep running.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  main().then(
    (isGood) => process.exit(isGood ? 0 : 1),
    (error: unknown) => {
      const isUsage = error instanceof UsageError;
      const text = error instanceof Error ? (!isUsage && error.stack) || error.message : error;
      process.stderr.write(`${String(text)}\n`);
      process.exit(1);
    },
  );
}

/** Somebody called a tool wrongly: its message says how to call it. */
export class UsageError extends Error {}

/** @throws UsageError with `usage` for unknown arguments */
export function readArguments<T extends ParseArgsConfig>(config: T, usage: string) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
}
