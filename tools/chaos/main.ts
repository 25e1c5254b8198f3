import { readOptions } from './options';
import { runChaos } from './run';
import { runMain } from '../harness/run-main';

/**
 * `node dist/tools/chaos/main.js`: breaks a separate system for the requested time, and reports
 * whether it kept its promise.
 */

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
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
  return violations.length === 0;
}

runMain(main);
