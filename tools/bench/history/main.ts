import { parseArgs } from 'node:util';
import { setUp } from '../setup';
import { measureBeside } from './control-impact';
import { measureDatabase } from './database';
import { measureReplay } from './replay';

/**
 * `node dist/tools/bench/history/main.js database|beside|replay`: the cost of writes and queries of
 * the history; its cost for delivery, at full load or at `--per-second`; and a replay of many dead
 * letters.
 */

const note = (text: string) => console.error(`bench: ${text}`);

async function main(): Promise<string> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string' },
      dir: { type: 'string', default: '.waypost/bench-history' },
      url: { type: 'string' },
      'fill-seconds': { type: 'string', default: '3600' },
      'per-second': { type: 'string' },
    },
  });
  const [part = 'database'] = positionals;
  const count = (byDefault: number) => Number(values.count ?? byDefault);
  if (part === 'database') {
    const { dir, url } = values;
    return measureDatabase({
      count: count(1_000_000),
      dir,
      url,
      fillMs: Number(values['fill-seconds']) * 1_000,
      note,
    });
  }
  if (part !== 'beside' && part !== 'replay') {
    throw new Error(`there is no part ${part}: database, beside or replay`);
  }
  const bench = await setUp(undefined, note);
  try {
    const perSecond = values['per-second'] === undefined ? undefined : Number(values['per-second']);
    if (part === 'beside') {
      return await measureBeside(bench, { count: count(40_000), perSecond }, note);
    }
    return await measureReplay(
      bench,
      { count: count(100_000), perSecond: perSecond ?? 2_000 },
      note,
    );
  } finally {
    await bench.stop();
  }
}

main().then(
  (text) => {
    console.log(text);
    process.exit(0);
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
