import { readArguments, UsageError } from '../harness/run-main';
import { type Part, PARTS } from './parts';
import { QUICK, type Sizes, WHOLE } from './sizes';

/** Parses the command line of `npm run bench`. */

const ALL = Object.keys(PARTS) as Part[];

const USAGE = `Usage: npm run bench -- [--quick] [--only ${ALL.join(',')}] [--rounds N]
  [--capacity CALLS_PER_SECOND] [--minutes N, with soak] [--together, with --only isolation, ledger or load] [--json FILE] [--profile DIR]`;

export interface Options {
  only: readonly Part[];
  rounds: number;
  sizes: Sizes;
  json: string | undefined;
  profile: string | undefined;
}

/** @throws an error with the usage for unknown arguments */
export function readOptions(args: string[]): Options {
  const { values } = parse(args);
  const quick = values.quick === true;
  const together = values.together === true;
  const alone = (values.only ?? '').split(',').filter((part) => part !== 'bare');
  if (together && !['isolation', 'ledger', 'load'].includes(alone.join(','))) {
    throw new UsageError(`--together needs --only isolation, ledger or load.\n${USAGE}`);
  }
  const { isolation, soak, ledger, load, ...others } = quick ? QUICK : WHOLE;
  return {
    only:
      values.only === undefined ? ALL.filter((part) => !PARTS[part].asked) : readParts(values.only),
    rounds: count('rounds', values.rounds) ?? (quick ? 1 : 3),
    sizes: {
      ...others,
      isolation: {
        ...isolation,
        together,
        capacity: count('capacity', values.capacity) ?? isolation.capacity,
      },
      ledger: { ...ledger, together },
      load: { ...load, together },
      soak: { ...soak, minutes: count('minutes', values.minutes) ?? soak.minutes },
    },
    json: values.json,
    profile: values.profile,
  };
}

function count(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new UsageError(`--${name} must be a whole number.\n${USAGE}`);
  }
  return value;
}

function parse(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    quick: flag,
    only: text,
    rounds: text,
    capacity: text,
    minutes: text,
    together: flag,
    json: text,
    profile: text,
  };
  return readArguments({ args, options }, USAGE);
}

/** Returns the named parts in the order of a run. */
function readParts(list: string): Part[] {
  const names = new Set(list.split(','));
  const unknown = [...names].find((name) => !(name in PARTS));
  if (unknown !== undefined) throw new UsageError(`There is no part "${unknown}".\n${USAGE}`);
  return ALL.filter((part) => names.has(part));
}
