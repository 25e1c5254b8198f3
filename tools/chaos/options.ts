import { readArguments, UsageError } from '../harness/run-main';

/** Parses the command line of `node dist/tools/chaos/main.js`. */

const USAGE =
  'Usage: node dist/tools/chaos/main.js [--minutes N] [--seed N] [--brokers 1|3] ' +
  '[--together] [--rate CALLS_PER_SECOND] [--log-level LEVEL] [--keep]';

export interface ChaosOptions {
  seed: number;
  /** duration of the faults; open deliveries finish afterwards */
  forMs: number;
  brokers: number;
  /** run all services in one process */
  together: boolean;
  perSecond: number;
  logLevel: string;
  /** keep the data and logs for inspection */
  keep: boolean;
}

/** @throws an error with the usage for unknown arguments */
export function readOptions(args: string[], freshSeed: () => number): ChaosOptions {
  const values = parse(args);
  const options = {
    seed: values.seed === undefined ? freshSeed() : Number(values.seed),
    forMs: Math.round(Number(values.minutes ?? 5) * 60_000),
    brokers: Number(values.brokers ?? 1),
    together: values.together === true,
    perSecond: Number(values.rate ?? 200),
    logLevel: values['log-level'] ?? 'warn',
    keep: values.keep === true,
  };
  const wrong = [
    Number.isSafeInteger(options.seed) && options.seed >= 0
      ? []
      : ['--seed must be a whole number'],
    options.forMs > 0 ? [] : ['--minutes must be a number above 0'],
    options.brokers === 1 || options.brokers === 3 ? [] : ['--brokers must be 1 or 3'],
    options.perSecond > 0 ? [] : ['--rate must be a number above 0'],
  ].flat();
  if (wrong.length > 0) throw new UsageError(`${wrong.join('; ')}.\n${USAGE}`);
  return options;
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    minutes: text,
    seed: text,
    brokers: text,
    together: flag,
    rate: text,
    'log-level': text,
    keep: flag,
  };
  return readArguments({ args, options }, USAGE).values;
}
