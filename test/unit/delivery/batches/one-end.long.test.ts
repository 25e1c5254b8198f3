import { type Random, randomOf } from '../../../../tools/harness/random';
import { type Answer, type Post, World } from './world';
import { cases } from '../../../support/cases';

/**
 * Random batches, failures, kills and rebalances. Each event has a fate: its receiver takes it,
 * refuses it for good, or fails a few times before it takes it.
 */

type Fate = 'good' | 'bad' | 'flaky';
const RUNS = cases(25);
const EVENTS = 60;

interface Run {
  world: World;
  fates: Map<string, Fate>;
}

async function runOf(seed: number): Promise<Run> {
  const random = randomOf(seed);
  const limits = {
    maxEvents: random.between(2, 20),
    maxBytes: random.one([60, 300, 5_000_000]),
    maxWaitMs: random.one([100, 400, 2_000]),
  };
  const world = new World(
    random.one([['/a'], ['/a'], ['/a', '/b']]),
    limits,
    random.one([30_000, 1e9]),
  );
  if (random.next() < 0.3) world.destination.endpoints[0]!.maxPerSecond = random.between(5, 50);
  const fates = new Map<string, Fate>();
  const failures = new Map<string, number>();
  const statusOf = (id: string, path: string): number => {
    const fate = fates.get(id);
    if (fate === 'bad') return 422;
    const times = failures.get(path + id) ?? 0;
    if (fate === 'good' || times >= 2) return 204;
    failures.set(path + id, times + 1);
    return random.one([500, 503, 429]);
  };
  world.latencyMs = () => random.between(1, 300);
  world.answer = (post) => answerTo(post, random, statusOf);
  const isKilled = random.next() < 0.5;
  for (let i = 0; i < EVENTS; i++) {
    const id = `e${String(i)}`;
    fates.set(id, random.one(['good', 'good', 'good', 'bad', 'flaky']));
    world.accept(id, { pad: 'x'.repeat(random.between(0, 50)) });
    if (random.next() < 0.5) await world.run(random.between(1, 120));
    if (isKilled && random.next() < 0.1) world.kill();
    if (random.next() < 0.1) await world.rebalance();
  }
  await world.run(240_000, () => [...fates.keys()].every((id) => world.ends(id).length > 0));
  await world.run(2_000);
  return { world, fates };
}

/** Answers as a receiver that names failures, or as one that answers for the whole batch alone. */
function answerTo(
  post: Post,
  random: Random,
  statusOf: (id: string, path: string) => number,
): Answer {
  const statuses = post.events.map(({ id }) => statusOf(id, post.path));
  const failed = statuses.flatMap((status, index) => (status === 204 ? [] : [{ index, status }]));
  if (failed.length === 0) return 204;
  if (random.next() < 0.5) return { status: 200, body: JSON.stringify({ failed }) };
  return failed[0]?.status ?? 204;
}

test.each(Array.from({ length: RUNS }, (_, seed) => seed))(
  'every event of run %i has exactly one end',
  async (seed) => {
    const { world, fates } = await runOf(seed);
    expect(world.open).toEqual([]);
    const expected = [...fates].map(([id, fate]) => [
      id,
      fate === 'bad' ? ['rejected'] : ['delivered'],
    ]);
    expect([...fates.keys()].map((id) => [id, world.ends(id)])).toEqual(expected);
    const bad = [...fates].flatMap(([id, fate]) => (fate === 'bad' ? [id] : []));
    expect([...world.dead].sort()).toEqual(bad.sort());
    for (const { id, headers, deliveries, events, bytes } of world.posts) {
      expect(id).toMatch(/^bat_/);
      expect(headers['webhook-id']).toBe(id);
      expect(deliveries).toEqual(events.map((event) => event.id));
      expect(events.length === 1 || bytes <= (world.batch?.maxBytes ?? 0)).toBe(true);
      expect(events.length).toBeLessThanOrEqual(world.batch?.maxEvents ?? 0);
    }
  },
);
