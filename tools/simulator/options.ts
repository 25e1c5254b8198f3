import { readArguments, UsageError } from '../harness/run-main';

/** Parses the command line of `node dist/tools/simulator/main.js`. */

const HELP = 'node dist/tools/simulator/main.js --help says what there is.';

export interface CommandLine {
  scenarios: string[];
  seed: number;
  short: boolean;
}

/** A scenario: its name, and a sentence about it. */
type Known = readonly { name: string; about: string }[];

/** @throws an error with the usage for unknown arguments and for no scenario at all */
export function readCommandLine(args: string[], known: Known): CommandLine | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const names = known.map(({ name }) => name);
  const unknown = positionals.find((name) => name !== 'all' && !names.includes(name));
  if (unknown !== undefined) throw wrong(`There is no scenario "${unknown}".`);
  if (positionals.length === 0) throw wrong('Which scenario?');
  const all = positionals.includes('all');
  const seed = Number(values.seed ?? 1);
  if (!Number.isSafeInteger(seed) || seed < 0) throw wrong('--seed must be a whole number.');
  const scenarios = names.filter((name) => all || positionals.includes(name));
  return { scenarios, seed, short: values.short === true };
}

export function help(known: Known): string {
  const width = Math.max(...known.map(({ name }) => name.length));
  return [
    'node dist/tools/simulator/main.js SCENARIO… [--seed N] [--short]',
    '',
    'Plays delivery and retry in virtual time, and checks at each step what is promised ' +
      '(docs/performance.md).',
    '',
    ...known.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    `  ${'all'.padEnd(width)}  all of these`,
    '',
    '  --seed N        the same seed gives the same run (default 1)',
    '  --short         a small form of each, as the tests play it',
  ].join('\n');
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = { seed: text, short: flag, help: flag };
  return readArguments({ args, allowPositionals: true, options }, HELP);
}

function wrong(what: string): Error {
  return new UsageError(`${what} ${HELP}`);
}
