import { runSendNow, seconds } from './send-now';
import { readArguments, runMain, UsageError } from '../harness/run-main';

/**
 * `node dist/tools/chaos/send-now-main.js [--waiting N] [--others N] [--tier SECONDS]`: sends the
 * deliveries that wait at an endpoint now, among many others, and kills retry in the middle. It
 * prints the time until the first and the last POST, and ends with 1 if a delivery arrived twice.
 */

const USAGE =
  'Usage: node dist/tools/chaos/send-now-main.js [--waiting N] [--others N] [--tier SECONDS]';

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
  const text = { type: 'string' } as const;
  const { values } = readArguments({ options: { waiting: text, others: text, tier: text } }, USAGE);
  const [waiting, others] = [Number(values.waiting ?? 2_000), Number(values.others ?? 1_000_000)];
  const tierMs = Number(values.tier ?? 180) * 1_000;
  if (!(waiting >= 20 && others >= 0 && tierMs >= 1_000)) {
    throw new UsageError(USAGE);
  }
  const outcome = await runSendNow({ waiting, others, tierMs, embedded: true }, say);
  const { firstMs, lastMs, posts, dropped, inTier, job } = outcome;
  say(`first POST ${seconds(firstMs)}, last POST ${seconds(lastMs)} after "send now"`);
  say(
    `${posts} POSTs for ${waiting} deliveries; ${dropped} of ${inTier} copies were dropped ` +
      'when they fell due',
  );
  say(`the job: ${job.status}, ${job.asked} asked, ${job.delivered} delivered`);
  return posts === waiting;
}

runMain(main);
