import fc from 'fast-check';
import {
  answers,
  badFrom,
  breaksAt,
  failsSometimes,
  flaps,
  hangs,
  refuses,
  throttles,
  works,
  type Behaviour,
} from '../../../bench/simulator/endpoint';
import { settingsOf, World, type DestinationSpec } from '../../../bench/simulator/world';

/** Small worlds of any kind: nothing lost, no bound passed, whatever endpoints do. */

const latency = fc.integer({ min: 1, max: 4_800 });
const simple: fc.Arbitrary<Behaviour> = fc.oneof(
  latency.map((ms) => answers(ms)),
  fc.tuple(fc.constantFrom(404, 408, 410, 500, 503), latency).map(([status, ms]) => answers(ms, status)),
  fc.constantFrom(hangs, refuses),
  fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), latency).map(([share, ms]) => failsSometimes(share, ms)),
  fc.tuple(fc.integer({ min: 1, max: 30 }), latency).map(([atOnce, ms]) => works(atOnce, ms)),
  fc.tuple(fc.integer({ min: 1, max: 30 }), latency).map(([atOnce, ms]) => breaksAt(atOnce, ms)),
  fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 5_000 })).map(([n, s]) => throttles(n, s)),
);
const behaviour = fc.oneof(
  simple,
  fc.tuple(fc.nat(10_000), fc.nat(60_000), simple, simple).map(([from, ms, a, b]) => badFrom(from, from + ms, a, b)),
  fc
    .tuple(fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 9_000 }), simple, simple)
    .map((all) => flaps(...all)),
);
const destination = fc.record({
  urls: fc.array(behaviour, { minLength: 1, maxLength: 3 }),
  perSecond: fc.integer({ min: 0, max: 20 }),
  burst: fc.integer({ min: 0, max: 150 }),
});
const tiersMs = fc.constantFrom<number[][]>(
  [1_000, 2_000],
  [1_000, 10_000, 30_000],
  [10_000, 60_000, 300_000, 900_000, 1_800_000],
);

test('whatever endpoints do, every delivery ends once, and no bound is passed on the way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(destination, { minLength: 1, maxLength: 5 }),
      fc.record({ seed: fc.nat(), tiersMs, total: fc.integer({ min: 5, max: 100 }), frozenMs: fc.nat(20_000) }),
      async (some, { seed, tiersMs: tiers, total, frozenMs }) => {
        const destinations = some.map(({ urls, perSecond, burst }, i): DestinationSpec => ({
          ...{ id: `d${String(i)}`, label: 'all', urls, perSecond, bursts: [{ atMs: 1_000, count: burst }] },
        }));
        const pool = { total, reserve: Math.floor(total / 10) };
        const world = new World({
          ...{
            seed,
            destinations,
            trafficMs: 2_000,
            settings: settingsOf({ tiersMs: tiers, pool, windowMs: 60_000 }),
          },
          freezes: frozenMs > 0 ? [{ process: 0, atMs: 2_000, ms: frozenMs }] : [],
        });
        const ended = await world.run();
        expect(ended.violations).toEqual({});
        const { figures, born } = ended;
        expect(figures.counted('all: delivered') + figures.counted('all: dead')).toBe(born);
      },
    ),
    { numRuns: 20 },
  );
}, 300_000);

test('a seed gives the same run again, and another seed another', async () => {
  const run = async (seed: number) => {
    const destinations = [failsSometimes(0.3, 50), hangs, works(3, 100)].map((each, i) => ({
      ...{ id: `d${String(i)}`, label: `l${String(i)}`, urls: [each], perSecond: 20 },
    }));
    const settings = settingsOf({ windowMs: 120_000, tiersMs: [10_000, 60_000] });
    const { figures, turns } = await new World({ seed, destinations, trafficMs: 20_000, settings }).run();
    return JSON.stringify([figures.counts(), turns]);
  };
  const first = await run(5);
  expect(await run(5)).toBe(first);
  expect(await run(6)).not.toBe(first);
});

test('processes share a cluster: each delivery is served by the one that has its partition', async () => {
  const destinations = Array.from({ length: 20 }, (_, i) => ({
    ...{ id: `d${String(i)}`, label: 'all', urls: [answers(20)], perSecond: 10 },
  }));
  const whole = { seed: 3, destinations, trafficMs: 5_000, partitions: 24 };
  const all = await new World({ ...whole, processes: { count: 3, simulated: 3 } }).run();
  const part = await new World({ ...whole, processes: { count: 3, simulated: 1 } }).run();
  expect([all.violations, part.violations]).toEqual([{}, {}]);
  expect(all.figures.counted('all: delivered')).toBe(all.born);
  expect(part.born / all.born).toBeGreaterThan(0.15);
  expect(part.born / all.born).toBeLessThan(0.55);
});
