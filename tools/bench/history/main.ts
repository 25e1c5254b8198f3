import { readArguments, runMain } from '../../harness/run-main';
import { Progress } from '../progress';
import { aDay, fourteenDays, measureDatabase } from './database';

const USAGE = `Usage: node dist/tools/bench/history/main.js [--day] [--count N] [--dir DIR | --url URL]
  [--fill-seconds N, without --day]

The cost of writes and queries of the history: a million deliveries of fourteen days.
With --day: the history at its limit after a day at 300 deliveries a second, which begins empty.
All of them count; --count of them have a row (default: a tenth).`;

const text = { type: 'string' } as const;

runMain(async () => {
  const { values } = readArguments(
    {
      options: {
        day: { type: 'boolean', default: false },
        count: text,
        dir: text,
        url: text,
        'fill-seconds': text,
      },
    },
    USAGE,
  );
  const { day: isDay, url } = values;
  const count = values.count === undefined ? undefined : Number(values.count);
  console.log(
    await measureDatabase({
      measure: isDay ? aDay(count) : fourteenDays(count),
      dir: values.dir ?? (isDay ? '.waypost/bench-day' : '.waypost/bench-history'),
      url,
      fillMs: isDay ? Infinity : Number(values['fill-seconds'] ?? 3_600) * 1_000,
      progress: new Progress((line) => console.error(`bench: ${line}`)),
    }),
  );
  return true;
});
