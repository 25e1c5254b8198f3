import { readOptions } from './options';
import { runChaos } from './run';

/** `npm run chaos`: breaks a system of its own for as long as it is told to, and says whether the promise was kept. */

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2), () => Math.floor(Math.random() * 1e6));
  const { seed, forMs, brokers, perSecond } = options;
  say(`seed ${seed}: ${forMs / 60_000} minutes of faults, ${brokers} broker(s), ${perSecond} calls a second`);
  const { lines, violations, faults, dir } = await runChaos(options, say);
  for (const line of lines) say(line);
  for (const violation of violations) say(`VIOLATION ${violation}`);
  if (dir !== undefined) say(`logs and data are in ${dir}`);
  say(violations.length === 0 ? `kept, after ${faults} faults (seed ${seed})` : `NOT kept (seed ${seed})`);
  return violations.length === 0 ? 0 : 1;
}

// A process that ends by a signal has no `exit`, and what it started would run on.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`chaos: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
