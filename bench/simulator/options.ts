import { parseArgs } from 'node:util';

/** The command line of `npm run simulate`. */

export interface CommandLine {
  scenarios: string[];
  seed: number;
  short: boolean;
  json: string | undefined;
  /** folder to write plots to */
  plots: string | undefined;
}

/** @throws an error with the usage for what it does not know */
export function readCommandLine(
  args: string[],
  known: { usual: readonly string[]; others: readonly string[] },
): CommandLine {
  const usage =
    'Usage: npm run simulate -- [--scenario NAME[,NAME]] [--seed S] [--short] [--json FILE] [--plots DIR]\n' +
    `Scenarios: ${known.usual.join(', ')}; and, when named: ${known.others.join(', ')}`;
  const values = parse(args, usage);
  const scenarios = values.scenario?.split(',') ?? [...known.usual];
  const unknown = scenarios.find((name) => ![...known.usual, ...known.others].includes(name));
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}".\n${usage}`);
  const seed = Number(values.seed ?? 1);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`--seed must be a whole number.\n${usage}`);
  return { scenarios, seed, short: values.short === true, json: values.json, plots: values.plots };
}

function parse(args: string[], usage: string) {
  try {
    const text = { type: 'string' } as const;
    return parseArgs({
      args,
      options: { scenario: text, seed: text, short: { type: 'boolean' }, json: text, plots: text },
    }).values;
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${usage}`, { cause: error });
  }
}
