import { mix } from '../random-world';
import { type Finding, type Options, type Scenario } from '../scenario';
import { World } from '../world';

/**
 * Random mixes: no delivery is lost, no bound exceeded and no standing invariant broken, for any
 * behaviour of endpoints and users, and whenever a process freezes, a partition moves, a log is cut
 * or a clock jumps.
 */

const WORLDS = 500;
const WORLDS_SHORT = 3;
const NOTE_EVERY = 50;

export const trouble: Scenario = {
  name: 'trouble',
  about:
    '500 small worlds of random endpoints, sockets, tiers, standstills, users, takeovers, cuts ' +
    'and clocks; their seeds follow from --seed',
  async play(options) {
    const sums = {
      born: 0,
      requests: 0,
      delivered: 0,
      dead: 0,
      cancelled: 0,
      'cut off': 0,
      mostHops: 0,
    };
    const broken: Finding[] = [];
    const worlds = options.short ? WORLDS_SHORT : WORLDS;
    for (let i = 0; i < worlds; i++) {
      if (i > 0 && i % NOTE_EVERY === 0) options.note(`world ${String(i)} of ${String(worlds)}`);
      broken.push(...(await one(seedOf(options, i), sums)));
    }
    return {
      findings: [
        { what: 'worlds', value: worlds },
        { what: 'deliveries', value: sums.born },
        { what: 'requests', value: sums.requests },
        { what: 'delivered', value: sums.delivered },
        { what: 'dead letters', value: sums.dead },
        { what: 'cancelled', value: sums.cancelled },
        { what: 'lost with the end of a log', value: sums['cut off'] },
        {
          what: 'none of these',
          value: sums.born - sums.delivered - sums.dead - sums.cancelled - sums['cut off'],
          goal: { most: 0 },
        },
        {
          what: 'promises broken',
          value: broken.reduce((sum, { value }) => sum + value, 0),
          goal: { most: 0 },
        },
        ...broken,
        { what: 'most hops of a delivery', value: sums.mostHops },
      ],
    };
  },
};

/**
 * Far apart for neighbouring seeds, so that a thousand worlds of seed 1 differ from those of seed
 * 2.
 */
function seedOf({ seed }: Options, i: number): number {
  return seed * 100_000 + i;
}

async function one(
  seed: number,
  sums: Record<string, number> & { born: number },
): Promise<Finding[]> {
  const { figures, born, violations } = await new World(mix(seed)).run();
  const add = (name: string, value: number) => (sums[name] = (sums[name] ?? 0) + value);
  const most = (name: string, value: number) => (sums[name] = Math.max(sums[name] ?? 0, value));
  add('born', born);
  for (const count of ['requests', 'delivered', 'dead', 'cancelled', 'cut off']) {
    add(count, figures.counted(`all: ${count}`));
  }
  most('mostHops', figures.counted('all: most hops'));
  return Object.entries(violations).map(([kind, value]) => ({
    what: `world of seed ${String(seed)}: ${kind}`,
    value,
    goal: { most: 0 },
  }));
}
