import { parseArgs } from 'node:util';
import { type AudiencesSize } from './cases/audiences';
import { BEYOND } from './drain';
import { LONG, QUICK, type Sizes, WHOLE } from './sizes';

/** Parses the command line of `npm run bench`. */

/** In the order of the run. */
export const PARTS = [
  'bare',
  'delivery',
  'https',
  'telemetry',
  'filters',
  'load',
  'latency',
  'batches',
  'singles',
  'batched',
  'sustained',
  'processes',
  'rolling',
  'isolation',
  'backlog',
  'outage',
  'waiting',
  'audiences',
  'hostile',
  'soak',
] as const;
export type Part = (typeof PARTS)[number];

/** These take long for each figure: once a run, unless --long is set. */
const ONCE: readonly Part[] = [
  'telemetry',
  'filters',
  'load',
  'batched',
  'sustained',
  'processes',
  'rolling',
  'outage',
  'waiting',
  'audiences',
  'soak',
];

/** This takes an hour: it runs only if it is named. */
const ASKED: readonly Part[] = ['soak'];

const USAGE = `Usage: npm run bench -- [--quick | --long] [--only ${PARTS.join(',')}] [--rounds N]
  [--capacity CALLS_PER_SECOND] [--waiting N] [--partitions N] [--tier-partitions N] [--users N] [--minutes N, with soak] [--together, with --only isolation or load] [--json FILE] [--write FILE.md] [--profile DIR]`;

/** Destination of the table and the plots of a whole run; git ignores the folder. */
const PAGE = 'bench-results/benchmarks.md';

export interface Options {
  only: ReadonlySet<Part>;
  rounds: number;
  sizes: Sizes;
  quick: boolean;
  /** not repeated after the first round */
  once: ReadonlySet<Part>;
  json: string | undefined;
  /** a Markdown page, with plots beside it */
  page: string | undefined;
  profile: string | undefined;
}

/** @throws an error with the usage for unknown arguments */
export function readOptions(args: string[]): Options {
  const { values } = parse(args);
  const [quick, long] = [values.quick === true, values.long === true];
  if (quick && long) throw new Error(`--quick and --long exclude each other.\n${USAGE}`);
  const together = values.together === true;
  const alone = (values.only ?? '').split(',').filter((part) => part !== 'bare');
  if (together && !['isolation', 'load'].includes(alone.join(','))) {
    throw new Error(`--together needs --only isolation or --only load.\n${USAGE}`);
  }
  const whole = !quick && values.only === undefined;
  return {
    only:
      values.only === undefined
        ? new Set(PARTS.filter((part) => !ASKED.includes(part)))
        : readParts(values.only),
    rounds: count('rounds', values.rounds) ?? (quick ? 1 : 3),
    sizes: sizesOf(quick ? QUICK : long ? LONG : WHOLE, values, together),
    quick,
    once: new Set(long ? [] : ONCE),
    json: values.json,
    page: values.write ?? (whole ? PAGE : undefined),
    profile: values.profile,
  };
}

function sizesOf(
  sizes: Sizes,
  given: Partial<
    Record<
      'waiting' | 'partitions' | 'tier-partitions' | 'capacity' | 'users' | 'minutes',
      string | undefined
    >
  >,
  together: boolean,
): Sizes {
  const { isolation, waiting, audiences, soak, load } = sizes;
  return {
    ...sizes,
    isolation: {
      ...isolation,
      together,
      capacity: count('capacity', given.capacity) ?? isolation.capacity,
    },
    waiting: {
      ...waiting,
      count: count('waiting', given.waiting) ?? waiting.count,
      partitions: count('partitions', given.partitions) ?? waiting.partitions,
      tierPartitions: count('tier-partitions', given['tier-partitions']),
    },
    audiences: { ...audiences, users: users(audiences, count('users', given.users)) },
    load: { ...load, together },
    soak: { ...soak, minutes: count('minutes', given.minutes) ?? soak.minutes },
  };
}

/** Enough messages must remain after the warm-up. */
function users({ users: usual, passes, warmUp }: AudiencesSize, given = usual): number {
  const least = Math.ceil((1.2 * (warmUp + BEYOND)) / passes);
  if (given < least) {
    throw new Error(
      `--users must be ${String(least)} or more: fewer have sent too little.\n${USAGE}`,
    );
  }
  return given;
}

function count(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`--${name} must be a whole number.\n${USAGE}`);
  }
  return value;
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        quick: { type: 'boolean' },
        only: { type: 'string' },
        long: { type: 'boolean' },
        rounds: { type: 'string' },
        capacity: { type: 'string' },
        waiting: { type: 'string' },
        partitions: { type: 'string' },
        'tier-partitions': { type: 'string' },
        users: { type: 'string' },
        minutes: { type: 'string' },
        together: { type: 'boolean' },
        write: { type: 'string' },
        json: { type: 'string' },
        profile: { type: 'string' },
      },
    });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, {
      cause: error,
    });
  }
}

function readParts(list: string): Set<Part> {
  const parts = new Set<Part>();
  for (const name of list
    .split(',')
    .flatMap((part) => (part === 'pipeline' ? ['batches', 'singles'] : [part]))) {
    const part = PARTS.find((known) => known === name);
    if (!part) throw new Error(`There is no part "${name}".\n${USAGE}`);
    parts.add(part);
  }
  return parts;
}
