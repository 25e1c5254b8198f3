import { writeFileSync } from 'node:fs';
import { measureBare } from './bare';
import { measureDelivery } from './delivery';
import { type Results, type Round } from './figures';
import { describeMachine } from './machine';
import { type Options, readOptions } from './options';
import { BODY_BYTES } from './payload';
import { report } from './report';
import { setUp, type Bench } from './setup';
import { runSystem } from './system-run';
import { loadSettings } from '../shared/settings';

/** `npm run bench`: measures, and prints one page of figures on stdout. Progress goes to stderr. */

function note(text: string): void {
  console.error(`bench: ${text} …`);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  note('starting Kafka');
  const bench = await setUp(options.profile, note);
  const stopped = (signal: string) => {
    note(`${signal}: stopping`);
    void bench.stop().finally(() => process.exit(1));
  };
  process.once('SIGINT', stopped);
  process.once('SIGTERM', stopped);
  try {
    const rounds: Round[] = [];
    for (let i = 1; i <= options.rounds; i++) {
      const prefix = `round ${String(i)} of ${String(options.rounds)}: `;
      rounds.push(await runRound(bench, options, (text) => note(prefix + text)));
    }
    const results: Results = {
      at: new Date().toISOString(),
      machine: await describeMachine(),
      settings: settingsOf(options),
      rounds,
    };
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
    console.log(report(results));
  } finally {
    await bench.stop();
  }
}

async function runRound(bench: Bench, { only, sizes }: Options, say: (text: string) => void): Promise<Round> {
  const round: Round = { bare: [] };
  const bare = async () => {
    if (!only.has('bare')) return;
    say('bare loop');
    bench.endpoint.reset({ ids: false });
    round.bare.push(await measureBare({ origin: bench.endpoint.origin, ...sizes.bare }));
  };
  await bare();
  if (only.has('delivery')) {
    say('delivery alone');
    round.delivery = await measureDelivery(bench, sizes.delivery);
  }
  if (only.has('batches') || only.has('singles') || only.has('latency')) {
    if (only.has('delivery')) await bare();
    Object.assign(round, await runSystem(bench, { only, sizes, note: say }));
  }
  return round;
}

function settingsOf({ sizes, only }: Options): Results['settings'] {
  const { bare, delivery, batches, singles, latency } = sizes;
  const defaults = loadSettings({});
  const after = (size: { warmUp: number; count: number }) =>
    `${String(size.count)} after ${String(size.warmUp)} to warm up`;
  return {
    parts: [...only].join(','),
    bodyBytes: BODY_BYTES,
    partitions: defaults.WAYPOST_PARTITIONS,
    logLevel: defaults.WAYPOST_LOG_LEVEL,
    ...(only.has('bare') && { bare: after(bare) }),
    ...(only.has('delivery') && { delivery: after(delivery) }),
    ...(only.has('batches') && { batches: `${after(batches)}, ${String(batches.connections)} connections` }),
    ...(only.has('singles') && { singles: `${after(singles)}, ${String(singles.connections)} connections` }),
    ...(only.has('latency') && { latency: `${String(latency.perSecond)}/s, ${after(latency)}` }),
  };
}

main().then(
  // A pool or a pipe that is still open must not hold up the shell.
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
