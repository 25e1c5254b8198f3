import { parseArgs } from 'node:util';
import { runMain } from '../../harness/run-main';
import { measureDatabase } from './database';

/**
 * `node dist/tools/bench/history/main.js [--count N] [--dir DIR | --url URL] [--fill-seconds N]`:
 * the cost of writes and queries of the history.
 */

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000000' },
    dir: { type: 'string', default: '.waypost/bench-history' },
    url: { type: 'string' },
    'fill-seconds': { type: 'string', default: '3600' },
  },
});

runMain(async () => {
  console.log(
    await measureDatabase({
      count: Number(values.count),
      dir: values.dir,
      url: values.url,
      fillMs: Number(values['fill-seconds']) * 1_000,
      note: (text) => console.error(`bench: ${text}`),
    }),
  );
  return true;
});
