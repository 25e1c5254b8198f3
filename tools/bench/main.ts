import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { kafkaVersion, readJarList } from '../../dev/kafka/jar-list';
import { findJavaKafka } from '../../dev/kafka/kafka-source';
import { clockMs } from '../harness/timing';
import { type Options, readOptions } from './options';
import { duration, Progress } from './progress';
import { runParts } from './run-parts';
import { PARTS } from './parts';
import { type Machine, report, type Results, type Round } from './report';
import { type Bench, setUp } from './setup';

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
      arguments: process.argv.slice(2),
      sizes: Object.fromEntries(options.only.map((part) => [part, options.sizes[part]])),
      rounds: [],
    };
    for await (const round of runRounds(bench, options)) {
      results.rounds.push(round);
      // Write after each round, so that an aborted run keeps its figures.
      if (options.json !== undefined) {
        writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
      }
    }
    console.log(report(results));
    return results.rounds.some(({ failures }) => failures.length > 0) ? 1 : 0;
  } finally {
    await bench.stop();
  }
}

async function* runRounds(
  bench: Bench,
  { rounds: count, only, sizes }: Options,
): AsyncGenerator<Round> {
  const startedAt = clockMs();
  for (let i = 1; i <= count; i++) {
    const parts = i === 1 ? only : only.filter((part) => !PARTS[part].once);
    if (parts.length === 0) break;
    const about = `round ${String(i)} of ${String(count)}`;
    yield await runParts(parts, progress.within(about), (part, within) =>
      PARTS[part].measure(bench, sizes, within),
    );
    progress.note(`${about} is done, ${duration(clockMs() - startedAt)} since the start`);
  }
}

/** Describes the machine of the measurement. */
async function describeMachine(): Promise<Machine> {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    java: await javaVersion(),
    kafka: kafkaVersion(readJarList()),
  };
}

async function javaVersion(): Promise<string> {
  const { java } = await findJavaKafka(() => undefined).catch(() => ({ java: undefined }));
  if (java === undefined) return 'in a container';
  // `java -version` prints to stderr, `--version` to stdout.
  return execFileSync(java, ['--version'], { encoding: 'utf8' }).split('\n', 1)[0] ?? 'unknown';
}

main().then(
  // An open pool or pipe must not delay the exit.
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
