import { readArguments, runMain } from '../../harness/run-main';
import { Progress } from '../progress';
import { atTheLimit, fourteenDays, measureDatabase } from './database';

const USAGE = `Usage: node dist/tools/bench/history/main.js [--count N] [--dir DIR | --url URL]
  [--fill-seconds N | --hours N]

The cost of writes and queries of the history: a million deliveries of fourteen days.
With --hours: of a history that begins empty, and reaches its limit in hours at 300 deliveries a
second. All of them count; --count of them have a row (default: a tenth).`;

const text = { type: 'string' } as const;

runMain(async () => {
  const { values } = readArguments(
    {
      options: {
        count: text,
        dir: text,
        url: text,
        'fill-seconds': text,
        hours: text,
      },
    },
    USAGE,
  );
  const { url } = values;
  const [count, hours, fillSeconds] = [values.count, values.hours, values['fill-seconds']].map(
    (given) => (given === undefined ? undefined : Number(given)),
  );
  console.log(
    await measureDatabase({
      measure: hours === undefined ? fourteenDays(count) : atTheLimit(hours, count),
      dir: values.dir ?? '.waypost/bench-history',
      url,
      fillMs: hours === undefined ? (fillSeconds ?? 3_600) * 1_000 : Infinity,
      progress: new Progress((line) => console.error(`bench: ${line}`)),
    }),
  );
  return true;
});
