import { readOptions } from './options';
import { runChaos } from './run';

/**
 * `node dist/tools/chaos/main.js`: breaks a separate system for the requested time, and reports
 * whether it kept its promise.
 */

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), () => Math.floor(Math.random() * 1e6));
  const { seed, forMs, brokers, perSecond, together } = options;
  const processes = together ? 'all services in one process' : 'a process for each service';
  say(
    `seed ${seed}: ${forMs / 60_000} minutes of faults, ${processes}, ${brokers} ` +
      `broker(s), ${perSecond} calls a second`,
  );
  const { lines, violations, faults, dir } = await runChaos(options, say);
  for (const line of lines) say(line);
  for (const violation of violations) say(`VIOLATION ${violation}`);
  if (dir !== undefined) say(`logs and data are in ${dir}`);
  say(
    violations.length === 0
      ? `kept, after ${faults} faults (seed ${seed})`
      : `NOT kept (seed ${seed})`,
  );
  return violations.length === 0 ? 0 : 1;
}

// A process that a signal ends emits no `exit`, so its children would keep running.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(
      `chaos: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);
