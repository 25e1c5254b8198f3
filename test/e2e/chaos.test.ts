import { type Outcome, runChaos } from '../../tools/chaos/run';

/**
 * Twenty seconds of random faults under load, with a fixed seed; `node dist/tools/chaos/main.js`
 * runs longer and with other seeds.
 */

const SEED = 20_240;

test('under random faults acknowledged calls end once, and repeats are explained', async () => {
  // The faults are kills, stops and freezes of services; crash.test.ts breaks the broker. Some
  // endpoints misbehave.
  const lines: string[] = [];
  const options = {
    seed: SEED,
    forMs: 20_000,
    brokers: 1,
    together: false,
    perSecond: 45,
    logLevel: 'warn',
    keep: false,
  };
  const outcome: Outcome = await runChaos(options, (line) => lines.push(line));
  const told = [`seed ${SEED}`, ...lines, ...outcome.lines].join('\n');
  process.stdout.write(`${told}\n`);
  expect(outcome.violations).toEqual([]);
  expect(outcome.verdict.acknowledged).toBeGreaterThan(options.perSecond);
  expect(outcome.faults).toBeGreaterThan(3);
}, 600_000);
