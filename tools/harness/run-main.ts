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
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.stderr.write(`${text}\n`);
      process.exit(1);
    },
  );
}
