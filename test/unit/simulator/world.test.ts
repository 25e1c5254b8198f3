import { answers, failsSometimes, hangs, works } from '../../../tools/simulator/endpoint';
import { mix } from '../../../tools/simulator/random-world';
import { settingsOf, World } from '../../../tools/simulator/world';

test.each(Array.from({ length: 6 }, (_, i) => i))(
  'random endpoints, world %i: each delivery ends once, and no bound is passed',
  async (seed) => {
    const { figures, born, violations } = await new World(mix(seed)).run();
    expect(violations).toEqual({});
    const ends = ['delivered', 'dead', 'cancelled', 'cut off'];
    const ended = ends.reduce((sum, end) => sum + figures.counted(`all: ${end}`), 0);
    expect(ended).toBe(born);
  },
);

test('a seed gives the same run again, and another seed another', async () => {
  const run = async (seed: number) => {
    const destinations = [failsSometimes(0.3, 50), hangs, works(3, 100)].map((each, i) => ({
      id: `d${String(i)}`,
      label: `l${String(i)}`,
      urls: [each],
      perSecond: 20,
    }));
    const settings = settingsOf({ windowMs: 30_000, tiersMs: [1_000, 10_000] });
    const { figures, circuitChanges } = await new World({
      seed,
      destinations,
      trafficMs: 4_000,
      settings,
    }).run();
    return JSON.stringify([figures.counts(), circuitChanges]);
  };
  const first = await run(5);
  expect(await run(5)).toBe(first);
  expect(await run(6)).not.toBe(first);
});

test("processes share a cluster: each delivery is served by its partition's owner", async () => {
  const destinations = Array.from({ length: 20 }, (_, i) => ({
    id: `d${String(i)}`,
    label: 'all',
    urls: [answers(20)],
    perSecond: 10,
  }));
  const whole = { seed: 3, destinations, trafficMs: 5_000, partitions: 24 };
  const all = await new World({ ...whole, processes: { count: 3, simulated: 3 } }).run();
  const part = await new World({ ...whole, processes: { count: 3, simulated: 1 } }).run();
  expect([all.violations, part.violations]).toEqual([{}, {}]);
  expect(all.figures.counted('all: delivered')).toBe(all.born);
  expect(part.born / all.born).toBeGreaterThan(0.15);
  expect(part.born / all.born).toBeLessThan(0.55);
});
