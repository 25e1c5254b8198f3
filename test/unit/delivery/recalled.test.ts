import { type Post, World } from './batches/world';

/**
 * Stories of deliveries that retry has taken out of their tier early: real lanes and deliveries in
 * virtual time.
 */

const BATCH = { maxEvents: 4, maxBytes: 1_000_000, maxWaitMs: 10_000 };
const DUE = { topic: 'webhooks.due', attempt: 1, hop: 1, reason: 'backoff' } as const;

let world: World;

/** Lets an endpoint fail until its circuit is open. */
async function outage(batch?: World['batch']): Promise<void> {
  world = new World(['/a'], batch);
  world.answer = () => 503;
  for (let i = 0; i < 12; i++) {
    world.accept(`failing${i}`);
    await world.run(batch ? batch.maxWaitMs + 100 : 50);
  }
  world.posts.length = 0;
}

const names = (posts: readonly Post[]) =>
  posts.map(({ id, deliveries }) => deliveries.join(' ') || id);

describe.each<[string, World['batch']]>([
  ['alone', undefined],
  ['in batches', BATCH],
])('deliveries sent %s', (_, batch) => {
  test('a delivery a user sends now probes an open circuit, and others stay parked', async () => {
    await outage(batch);
    world.answer = () => 204;
    world.accept('parked', DUE);
    world.accept('now', { ...DUE, recalled: 'retry' });
    await world.run(60);
    expect(names(world.posts)).toEqual(['now']);
    expect(world.ends('now')).toEqual(['delivered']);
  });

  test('of many deliveries a user sends now, a failing endpoint gets one a second', async () => {
    await outage(batch);
    for (let i = 0; i < 50; i++) {
      world.accept(`all${i}`, { ...DUE, recalled: 'retry_all' });
      await world.run(40);
    }
    expect(world.posts.length).toBeGreaterThanOrEqual(2);
    expect(world.posts.length).toBeLessThanOrEqual(4);
  });

  test('the backlog of a recovered endpoint does not ask one that is away again', async () => {
    await outage(batch);
    world.accept('back', { ...DUE, reason: 'circuit_open', recalled: 'recovered' });
    await world.run(60);
    expect(world.posts).toEqual([]);
    expect(world.ends('back')).toEqual([]);
  });

  test('a cancelled delivery ends without a POST', async () => {
    world = new World(['/a'], batch);
    world.accept('unwanted', { ...DUE, recalled: 'cancel' });
    await world.run(BATCH.maxWaitMs + 100);
    expect([world.posts, world.ends('unwanted'), world.open]).toEqual([
      [],
      ['cancelled_by_user'],
      [],
    ]);
  });

  test('a delivery that a user sends now waits for neither its time nor a batch', async () => {
    world = new World(['/a'], batch);
    world.configure(batch, { plan: { delaysMs: [3_600_000] } });
    world.accept('now', { ...DUE, notBefore: 2e12, recalled: 'retry' });
    await world.run(60);
    expect(names(world.posts)).toEqual(['now']);
  });

  test('a failed early attempt continues the same plan', async () => {
    world = new World(['/a'], batch);
    world.answer = () => 503;
    world.accept('now', { ...DUE, recalled: 'retry' });
    await world.run(60);
    expect(world.attempts('now')).toMatchObject([{ n: 2, outcome: 'retry', reason: 'backoff' }]);
    world.answer = () => 204;
    await world.run(30_000);
    expect(world.attempts('now').map(({ n }) => n)).toEqual([2, 3]);
  });
});

test('deliveries that a user sends now keep the rate of their endpoint', async () => {
  world = new World(['/a'], undefined);
  world.destination.endpoints[0]!.maxPerSecond = 1;
  for (let i = 0; i < 10; i++) world.accept(`all${i}`, { ...DUE, recalled: 'retry' });
  await world.run(3_000);
  expect(world.posts.length).toBeGreaterThanOrEqual(3);
  expect(world.posts.length).toBeLessThanOrEqual(5);
});
