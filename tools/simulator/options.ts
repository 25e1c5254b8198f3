import { parseArgs } from 'node:util';

/** Parses the command line of `node dist/tools/simulator/main.js`. */

export interface CommandLine {
  scenarios: string[];
  seed: number;
  short: boolean;
  json: string | undefined;
}

/** A scenario: its name, and a sentence about it. */
export interface Known {
  usual: readonly { name: string; about: string }[];
  /** run only by name */
  others: readonly { name: string; about: string }[];
}

/** @throws an error with the usage for unknown arguments and for no scenario at all */
export function readCommandLine(args: string[], known: Known): CommandLine | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const names = [...known.usual, ...known.others].map(({ name }) => name);
  const unknown = positionals.find((name) => name !== 'all' && !names.includes(name));
  if (unknown !== undefined) throw wrong(`There is no scenario "${unknown}".`);
  if (positionals.length === 0) throw wrong('Which scenario?');
  const usual = positionals.includes('all') ? known.usual.map(({ name }) => name) : [];
  const seed = Number(values.seed ?? 1);
  if (!Number.isSafeInteger(seed) || seed < 0) throw wrong('--seed must be a whole number.');
  const scenarios = names.filter((name) => usual.includes(name) || positionals.includes(name));
  return { scenarios, seed, short: values.short === true, json: values.json };
}

export function help({ usual, others }: Known): string {
  const width = Math.max(...[...usual, ...others].map(({ name }) => name.length));
  const rows = (list: Known['usual']) =>
    list.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`);
  return [
    'node dist/tools/simulator/main.js SCENARIO… [--seed N] [--short] [--json FILE]',
    '',
    'Plays delivery and retry in virtual time, and checks at each step what is promised ' +
      '(docs/performance.md).',
    '',
    ...rows(usual),
    `  ${'all'.padEnd(width)}  all of these`,
    '',
    'Only when named:',
    ...rows(others),
    '',
    '  --seed N        the same seed gives the same run (default 1)',
    '  --short         a small form of each, as the tests play it',
    '  --json FILE     writes what was found',
  ].join('\n');
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    const options = { seed: text, short: flag, json: text, help: flag };
    return parseArgs({ args, allowPositionals: true, options });
  } catch (error) {
    throw wrong(error instanceof Error ? error.message : String(error));
  }
}

function wrong(what: string): Error {
  return new Error(`${what} node dist/tools/simulator/main.js --help says what there is.`);
}
