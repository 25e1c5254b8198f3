import { writeFileSync } from 'node:fs';
import { clockMs } from './clock';
import { type Results, type Round } from './report/figures';
import { describeMachine } from './machine';
import { type Options, readOptions } from './options';
import { duration, Progress } from './progress';
import { report, writePage } from './report/report';
import { runRound } from './round';
import { settingsOf } from './report/notes';
import { setUp, type Bench } from './setup';

/** `npm run bench`: measures, and prints one page of figures to stdout. Progress goes to stderr. */

const progress = new Progress((text) => console.error(`bench: ${text} …`));

/** Returns the exit code: not 0 if a measurement failed. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  const note = progress.note.bind(progress);
  note('starting Kafka');
  const bench = await setUp(options.profile, note);
  const stopped = (signal: string) => {
    note(`${signal}: stopping`);
    void bench.stop().finally(() => process.exit(1));
  };
  process.once('SIGINT', stopped);
  process.once('SIGTERM', stopped);
  try {
    const results: Results = {
      at: new Date().toISOString(),
      machine: await describeMachine(),
      settings: settingsOf(options),
      rounds: [],
    };
    for await (const round of runRounds(bench, options)) {
      results.rounds.push(round);
      // Write after each round, so that an aborted run keeps its figures.
      if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
    }
    if (options.page !== undefined) writePage(options.page, results);
    console.log(report(results));
    return results.rounds.some(({ failures }) => failures.length > 0) ? 1 : 0;
  } finally {
    await bench.stop();
  }
}

async function* runRounds(bench: Bench, { rounds: count, only, once, sizes }: Options): AsyncGenerator<Round> {
  const startedAt = clockMs();
  for (let i = 1; i <= count; i++) {
    const parts = i === 1 ? only : new Set([...only].filter((part) => !once.has(part)));
    if (parts.size === 0) break;
    const about = `round ${String(i)} of ${String(count)}`;
    yield await runRound(bench, { only: parts, sizes }, progress.within(about));
    progress.note(`${about} is done, ${duration(clockMs() - startedAt)} since the start`);
  }
}

main().then(
  // An open pool or pipe must not delay the exit.
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
