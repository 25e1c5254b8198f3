import { parseArgs } from 'node:util';
import { type LatencySize } from './latency';
import { type LoopSize } from './pipeline';

/** The command line of `npm run bench`, and how much each part does. */

export const PARTS = ['bare', 'delivery', 'batches', 'singles', 'latency'] as const;
export type Part = (typeof PARTS)[number];

const USAGE = `Usage: npm run bench -- [--quick] [--only ${PARTS.join(',')}] [--rounds N] [--json FILE] [--profile DIR]`;

export interface Sizes {
  bare: { warmUp: number; count: number };
  delivery: { warmUp: number; count: number };
  batches: LoopSize;
  singles: LoopSize;
  latency: LatencySize;
}

const WHOLE: Sizes = {
  bare: { warmUp: 5_000, count: 50_000 },
  delivery: { warmUp: 5_000, count: 50_000 },
  batches: { warmUp: 10_000, count: 50_000, callsPerRequest: 100, connections: 8 },
  singles: { warmUp: 5_000, count: 25_000, callsPerRequest: 1, connections: 32 },
  latency: { perSecond: 50, warmUp: 100, count: 1_000 },
};

/** Under a minute, start of broker and services included. */
const QUICK: Sizes = {
  bare: { warmUp: 5_000, count: 30_000 },
  delivery: { warmUp: 5_000, count: 25_000 },
  batches: { warmUp: 5_000, count: 20_000, callsPerRequest: 100, connections: 8 },
  singles: { warmUp: 2_000, count: 8_000, callsPerRequest: 1, connections: 32 },
  latency: { perSecond: 50, warmUp: 50, count: 300 },
};

export interface Options {
  only: ReadonlySet<Part>;
  rounds: number;
  sizes: Sizes;
  quick: boolean;
  json: string | undefined;
  profile: string | undefined;
}

/** @throws an error with the usage for what it does not know */
export function readOptions(args: string[]): Options {
  const { values } = parse(args);
  const quick = values.quick === true;
  const rounds = values.rounds === undefined ? (quick ? 1 : 3) : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds must be a whole number.\n${USAGE}`);
  return {
    only: values.only === undefined ? new Set(PARTS) : readParts(values.only),
    rounds,
    sizes: quick ? QUICK : WHOLE,
    quick,
    json: values.json,
    profile: values.profile,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        quick: { type: 'boolean' },
        only: { type: 'string' },
        rounds: { type: 'string' },
        json: { type: 'string' },
        profile: { type: 'string' },
      },
    });
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, { cause: error });
  }
}

function readParts(list: string): Set<Part> {
  const parts = new Set<Part>();
  for (const name of list.split(',').flatMap((part) => (part === 'pipeline' ? ['batches', 'singles'] : [part]))) {
    const part = PARTS.find((known) => known === name);
    if (!part) throw new Error(`There is no part "${name}".\n${USAGE}`);
    parts.add(part);
  }
  return parts;
}
