import { type Post, World } from './world';

/** Stories of batches: real lanes and deliveries in virtual time. */

const BATCH = { maxEvents: 4, maxBytes: 1_000_000, maxWaitMs: 500 };
const ids = (posts: readonly Post[]) =>
  posts.map(({ events }) => events.map(({ id }) => id).join(' '));
const named = (...failed: [index: number, status: number][]) => ({
  status: 200,
  body: JSON.stringify({ failed: failed.map(([index, status]) => ({ index, status })) }),
});

let world: World;
function begin(paths: string[] = ['/a'], batch: World['batch'] = BATCH, maxBytes?: number): World {
  world = new World(paths, batch, maxBytes);
  return world;
}
function accept(...given: string[]): void {
  for (const id of given) world.accept(id);
}

describe('gathering', () => {
  test('a full batch is sent at once, and the rest once its first event has waited', async () => {
    begin();
    accept(...'123456'.split(''));
    await world.run(100);
    expect(ids(world.posts)).toEqual(['1 2 3 4']);
    await world.run(1_000);
    expect(ids(world.posts)).toEqual(['1 2 3 4', '5 6']);
    expect(world.posts[1]?.atMs).toBeGreaterThanOrEqual(BATCH.maxWaitMs);
    expect(world.open).toEqual([]);
  });

  test('a batch has its id, lists delivery ids, and keeps the bytes of its events', async () => {
    begin();
    accept('1', '2');
    await world.run(1_000);
    const [post] = world.posts;
    expect(post?.headers).toMatchObject({
      'webhook-id': expect.stringMatching(/^bat_[\w-]{27}$/),
      'waypost-deliveries': '1,2',
      'content-type': 'application/json',
    });
    expect(post?.bytes).toBe('[{"id":"1"},{"id":"2"}]'.length);
  });

  test('a CloudEvents batch has its content type, and the signed bytes of events', async () => {
    begin();
    for (const id of ['1', '2']) {
      world.accept(id, { contentType: 'application/cloudevents+json; charset=utf-8' });
    }
    await world.run(1_000);
    expect(world.posts.map(({ headers }) => headers['content-type'])).toEqual([
      'application/cloudevents-batch+json; charset=utf-8',
    ]);
    expect(world.posts[0]?.bytes).toBe('[{"id":"1"},{"id":"2"}]'.length);
    // An event that waited alone is a batch as well.
    world.accept('3', { contentType: 'application/cloudevents+json; charset=utf-8' });
    await world.run(1_000);
    expect(world.posts[1]?.headers['content-type']).toBe(
      'application/cloudevents-batch+json; charset=utf-8',
    );
  });

  test('a batch has at most so many bytes, and a larger event goes alone', async () => {
    begin(['/a'], { ...BATCH, maxBytes: 100 });
    for (const [id, size] of [
      ['1', 20],
      ['2', 20],
      ['3', 40],
      ['4', 500],
      ['5', 1],
    ] as const) {
      world.accept(id, { pad: 'x'.repeat(size) });
    }
    await world.run(1_000);
    expect(ids(world.posts)).toEqual(['1 2', '3', '4', '5']);
    expect(world.posts.map(({ bytes }) => bytes <= 100)).toEqual([true, true, false, true]);
  });

  test('a batch that waits for its rate takes further events', async () => {
    begin();
    world.destination.endpoints[0]!.maxPerSecond = 1;
    accept('1', '2', '3', '4');
    await world.run(100);
    accept('5');
    await world.run(700);
    accept('6', '7');
    await world.run(2_000);
    expect(ids(world.posts)).toEqual(['1 2 3 4', '5 6 7']);
  });

  test('first attempts and due retries gather apart', async () => {
    begin();
    world.accept('due', { topic: 'webhooks.due', attempt: 1, hop: 1 });
    accept('fresh');
    await world.run(1_000);
    expect(ids(world.posts).sort()).toEqual(['due', 'fresh']);
  });

  test('a test send does not wait', async () => {
    begin();
    accept('1');
    world.accept('test', { test: true });
    await world.run(50);
    expect(ids(world.posts)).toEqual(['test']);
  });

  test('a process without room for more events sends the batches that wait', async () => {
    begin(['/a'], { ...BATCH, maxWaitMs: 60_000 }, 12_000);
    accept('1', '2', '3');
    await world.run(50);
    expect(world.posts).toEqual([]);
    accept('4');
    await world.run(200);
    expect(ids(world.posts)[0]).toBe('1 2 3');
  });

  test('events that wait when their destination leaves batches are sent alone', async () => {
    begin();
    accept('1', '2');
    await world.run(100);
    world.configure(undefined);
    world.answer = ({ id }) => (id.startsWith('bat_') ? 500 : 204);
    await world.run(1_000);
    expect(world.posts.map(({ id }) => id)).toEqual(['1', '2']);
  });

  test('a batch is no larger than the limit at the moment of sending', async () => {
    begin();
    accept('1', '2', '3');
    await world.run(100);
    world.configure({ ...BATCH, maxEvents: 2 });
    await world.run(2_000);
    expect(ids(world.posts)).toEqual(['1 2', '3']);
  });

  test('a batch is sent without events of a user who was deleted while it gathered', async () => {
    begin();
    world.accept('a', { userId: 'kim' });
    world.accept('b', { userId: 'lee' });
    await world.run(10);
    world.deletions.add({ userId: 'kim', at: Number.MAX_SAFE_INTEGER });
    await world.run(1_000);
    expect(world.posts.map(({ deliveries }) => deliveries)).toEqual([['b']]);
    expect([world.ends('a'), world.ends('b')]).toEqual([['user_deleted'], ['delivered']]);
  });

  test('a batch that waits for a connection is sent without events of a deleted user', async () => {
    begin();
    world.connectMs = 200;
    world.accept('a', { userId: 'kim' });
    world.accept('b', { userId: 'lee' });
    await world.run(600);
    expect(world.posts).toEqual([]);
    world.deletions.add({ userId: 'kim', at: Number.MAX_SAFE_INTEGER });
    await world.run(2_000);
    expect(world.posts.map(({ deliveries }) => deliveries)).toEqual([['b']]);
    expect([world.ends('a'), world.ends('b')]).toEqual([['user_deleted'], ['delivered']]);
    expect(world.attempts('b')).toMatchObject([{ n: 1 }]);
  });

  test('events of a paused destination are parked instead of sent', async () => {
    begin();
    accept('1', '2');
    await world.run(100);
    world.configure(BATCH, { paused: true });
    await world.run(900);
    expect(world.posts).toEqual([]);
    expect(world.events.map(({ kind }) => kind)).toEqual(['waiting', 'waiting']);
  });
});

describe('a response', () => {
  test('with 2xx settles all events, whose attempts name the batch', async () => {
    begin();
    accept('1', '2');
    await world.run(1_000);
    expect(['1', '2'].map((id) => world.ends(id))).toEqual([['delivered'], ['delivered']]);
    const batch = world.posts[0]!.id;
    expect(world.attempts('2')).toMatchObject([
      { n: 1, urls: [{ status: 204, batch: { id: batch, size: 2, index: 1, first: '1' } }] },
    ]);
  });

  test('with 2xx that names events settles others, and the named go on by status', async () => {
    begin();
    world.answer = ({ events }) => (events.length === 4 ? named([1, 503], [3, 404]) : 204);
    accept('1', '2', '3', '4');
    await world.run(100);
    expect(world.attempts('2')).toMatchObject([
      { outcome: 'retry', reason: 'backoff', urls: [{ status: 503 }] },
    ]);
    expect(world.ends('4')).toEqual(['rejected']);
    await world.run(2_500);
    expect(ids(world.posts)).toEqual(['1 2 3 4', '2']);
    expect('123'.split('').map((id) => world.ends(id))).toEqual([
      ['delivered'],
      ['delivered'],
      ['delivered'],
    ]);
  });

  test('is stored once, however many events it names, in each kind of answer', async () => {
    const pad = '\\"'.repeat(7_000);
    const all = [...Array(100).keys()];
    const failed = JSON.stringify(all.slice(1).map((index) => ({ index, status: 503 })));
    const answers = [
      { status: 200, body: `{"failed":${failed},"pad":"${pad}"}` },
      { status: 200, body: `{"pad":"${pad}"}` },
      { status: 425, body: '\u0001'.repeat(16 * 1024) },
      { status: 400, body: '\u0001'.repeat(16 * 1024) },
    ];
    for (const answer of answers) {
      begin(['/a'], { ...BATCH, maxEvents: 100 });
      world.answer = ({ events }) => (events.length === 100 ? answer : 204);
      // Attempts that are not the first one have an event each.
      all.forEach((id) => world.accept(String(id), { attempt: id % 2, hop: id % 2 }));
      await world.run(700);
      expect(ids(world.posts)[0]).toBe(all.join(' '));
      const stored = world.events.map((event) =>
        'urls' in event ? (event.urls?.[0]?.response?.body.length ?? 0) : 0,
      );
      expect(stored.filter((length) => length > 0)).toEqual([answer.body.length]);
      const [first] = world.attempts('0');
      expect(first?.urls[0]?.response?.body).toBe(answer.body);
    }
  });

  test('with a retriable failure sends each event again on its own plan', async () => {
    begin();
    world.answer = ({ atMs }) => (atMs < 100 ? 503 : 204);
    world.accept('late', { attempt: 1, hop: 1 });
    accept('1', '2', '3');
    await world.run(100);
    expect(ids(world.posts)).toEqual(['late 1 2 3']);
    expect(world.attempts('late')).toMatchObject([{ n: 2, reason: 'backoff' }]);
    await world.run(9_000);
    // The tiers of 1 s and of 5 s.
    expect(ids(world.posts)).toEqual(['late 1 2 3', '1 2 3', 'late']);
  });

  test('with 429 and Retry-After delays every event', async () => {
    begin();
    world.answer = ({ atMs }) =>
      atMs < 100 ? { status: 429, headers: { 'retry-after': '3' } } : 204;
    accept('1', '2', '3', '4');
    await world.run(100);
    expect(world.attempts('3')).toMatchObject([{ reason: 'retry_after' }]);
    await world.run(10_000);
    expect(world.posts.slice(1).every(({ atMs }) => atMs >= 3_000)).toBe(true);
    expect(world.ends('3')).toEqual(['delivered']);
  });

  test('with 410 ends each event without halving the batch, and gets no later one', async () => {
    begin();
    world.answer = () => 410;
    accept('1', '2', '3', '4');
    await world.run(200);
    expect('1234'.split('').map((id) => world.ends(id))).toEqual(Array(4).fill(['url_disabled']));
    expect(world.open).toEqual([]);
    accept('5', '6', '7', '8');
    await world.run(2_000);
    expect(ids(world.posts)).toEqual(['1 2 3 4']);
  });

  test('whose receiver asks not to get it again is not halved', async () => {
    begin();
    world.answer = () => ({ status: 400, headers: { 'webhook-delivery': 'abort-message' } });
    accept('1', '2', '3', '4');
    await world.run(2_000);
    expect(ids(world.posts)).toEqual(['1 2 3 4']);
  });

  test('with 2xx that names an event with 410 rejects this one alone', async () => {
    begin();
    world.answer = ({ events }) => (events.length === 4 ? named([1, 410]) : 204);
    accept('1', '2', '3', '4');
    await world.run(100);
    expect(world.ends('2')).toEqual(['rejected']);
    accept('5', '6', '7', '8');
    await world.run(2_000);
    expect(world.posts).toHaveLength(2);
  });

  test('with a final rejection halves the batch at once until the bad event is alone', async () => {
    begin();
    const isBad = ({ events }: Post) => events.some(({ id }) => id === '3');
    world.answer = (post) => (isBad(post) ? 400 : 204);
    accept('1', '2', '3', '4');
    await world.run(200);
    expect(ids(world.posts).sort()).toEqual(['1 2', '1 2 3 4', '3', '3 4', '4']);
    for (const post of world.posts) {
      expect(post.deliveries).toEqual(post.events.map(({ id }) => id));
    }
    expect(new Set(world.posts.map(({ id }) => id)).size).toBe(5);
    expect('1234'.split('').map((id) => world.ends(id))).toEqual([
      ['delivered'],
      ['delivered'],
      ['rejected'],
      ['delivered'],
    ]);
    expect(
      world
        .attempts('4')
        .map(({ n, outcome, urls }) => [n, outcome, urls[0]?.status, urls[0]?.batch?.size]),
    ).toEqual([
      [1, 'retry', 400, 4],
      [2, 'retry', 400, 2],
      [3, 'delivered', 204, 1],
    ]);
    expect(world.open).toEqual([]);
  });

  test('with a failure after a rejection waits for the first delay of the plan', async () => {
    begin();
    world.answer = ({ atMs, events }) => (events.length > 1 ? 400 : atMs < 500 ? 503 : 204);
    accept('1', '2', '3', '4');
    await world.run(200);
    expect(world.attempts('1').map(({ n, urls }) => [n, urls[0]?.status])).toEqual([
      [1, 400],
      [2, 400],
      [3, 503],
    ]);
    await world.run(2_500);
    // The second tier takes 5 s.
    expect(
      world
        .attempts('1')
        .map(({ n, urls }) => [n, urls[0]?.status])
        .slice(3),
    ).toEqual([
      [4, 400],
      [5, 400],
      [6, 204],
    ]);
  });

  test('of failures opens the circuit after as many batches as single requests', async () => {
    begin(['/a'], { ...BATCH, maxEvents: 2 });
    world.answer = () => 500;
    const given = Array.from({ length: 60 }, (_, i) => String(i));
    accept(...given);
    await world.run(200);
    expect(world.posts.length).toBeLessThan(30);
    expect(
      world.events.some((event) => event.kind === 'waiting' && event.reason === 'circuit_open'),
    ).toBe(true);
    world.answer = () => 204;
    await world.run(60_000);
    expect(given.map((id) => world.ends(id).join())).toEqual(given.map(() => 'delivered'));
  });
});

describe('several URLs', () => {
  test('each URL gets whole batches, also of events that another URL has settled', async () => {
    begin(['/a', '/b']);
    world.answer = ({ path }) => (path === '/a' ? 204 : 503);
    accept('1', '2', '3');
    await world.run(1_000);
    expect(world.posts.map(({ path, deliveries }) => [path, deliveries.join(' ')])).toEqual([
      ['/a', '1 2 3'],
      ['/b', '1 2 3'],
    ]);
    expect(world.ends('2')).toEqual(['delivered']);
    expect(world.open).toEqual([]);
  });

  test('a batch waits for its rate and goes after another URL settled its events', async () => {
    begin(['/a', '/b'], { ...BATCH, maxEvents: 2 });
    world.destination.endpoints[1]!.maxPerSecond = 1;
    accept('1', '2', '3', '4', '5', '6');
    await world.run(4_000);
    const at = (path: string) =>
      world.posts.filter((post) => post.path === path).flatMap(({ deliveries }) => deliveries);
    expect(at('/a')).toEqual('123456'.split(''));
    expect(at('/b')).toEqual('123456'.split(''));
    expect('123456'.split('').map((id) => world.ends(id).length)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(world.attempts('6').filter(({ late }) => late)).toHaveLength(1);
  });
});

describe('a partition that moves', () => {
  test('its events that gather are handed back at once', async () => {
    begin(['/a'], { ...BATCH, maxWaitMs: 60_000 });
    accept('1', '2', '3');
    await world.run(100);
    world.revoke();
    expect(world.records.map(({ state }) => state)).toEqual(['unread', 'unread', 'unread']);
    expect(world.posts).toEqual([]);
  });

  test('its batches in flight end, and those in a queue are handed back', async () => {
    begin(['/a'], { ...BATCH, maxEvents: 2 });
    world.destination.endpoints[0]!.maxPerSecond = 1;
    accept('1', '2', '3', '4', '5');
    await world.run(50);
    world.revoke();
    await world.run(100);
    expect(ids(world.posts)).toEqual(['1 2']);
    expect(world.records.map(({ state }) => state)).toEqual([
      'done',
      'done',
      'unread',
      'unread',
      'unread',
    ]);
  });

  test('a batch whose events another URL has settled is sent at once', async () => {
    begin(['/a', '/b'], { ...BATCH, maxWaitMs: 60_000 });
    accept('1', '2', '3');
    await world.run(100);
    world.configure({ ...BATCH, maxWaitMs: 60_000 });
    accept('4');
    world.answer = () => 204;
    await world.run(10);
    expect(world.posts.map(({ path }) => path).sort()).toEqual(['/a', '/b']);
  });
});

describe('a 2xx whose body may name failed events, and cannot be read', () => {
  const cut = { status: 200, body: '{"failed":[{"index":1,"st', truncated: true };

  test('is asked for once more, and the second response decides', async () => {
    begin();
    world.answer = ({ events }) =>
      world.posts.length === 1 ? cut : events.length > 1 ? named([1, 400]) : 204;
    accept('1', '2');
    await world.run(1_000);
    expect(ids(world.posts)).toEqual(['1 2', '1 2']);
    expect([world.ends('1'), world.ends('2')]).toEqual([['delivered'], ['rejected']]);
    expect(new Set(world.posts.map(({ id }) => id)).size).toBe(2);
  });

  test('is not asked for again once its events may not be sent any more', async () => {
    begin();
    world.answer = () => {
      world.configure(BATCH, { paused: true });
      return cut;
    };
    accept('1', '2');
    await world.run(1_000);
    expect(ids(world.posts)).toEqual(['1 2']);
    world.configure(BATCH, { paused: false });
    world.answer = () => 204;
    await world.run(60_000);
    expect([world.ends('1'), world.ends('2')]).toEqual([['delivered'], ['delivered']]);
  });

  test('is not asked for again if its receiver asks for an end', async () => {
    begin();
    world.answer = () => ({ ...cut, headers: { 'webhook-delivery': 'disable' } });
    accept('1', '2');
    await world.run(1_000);
    expect(ids(world.posts)).toEqual(['1 2']);
    expect([world.ends('1'), world.ends('2')]).toEqual([['delivered'], ['delivered']]);
  });

  test('counts as it is if the second cannot be read either', async () => {
    begin();
    world.answer = () => cut;
    accept('1', '2');
    await world.run(60_000);
    expect(ids(world.posts)).toEqual(['1 2', '1 2']);
    expect([world.ends('1'), world.ends('2')]).toEqual([['delivered'], ['delivered']]);
    expect(world.attempts('1')[0]?.urls[0]?.oddities).toEqual(['body_unreadable']);
  });
});
