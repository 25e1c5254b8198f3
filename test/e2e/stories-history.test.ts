import { openStorySystem, type StorySystem } from '../support/story-system';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { type Json } from '../../tools/harness/api';

/** History: finding deliveries and their attempts, and sending them again. */

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: '300ms,600ms' } });
});
afterAll(() => stage.close());

const post = async (path: string, body: object = {}) =>
  (await stage.system.control('POST', path, body)).body;
const finished = (id: string) =>
  stage.ask(`/replays/${id}`, ({ status }) => expect(status).toBe('done'));

test('the history finds a delivery by message, with attempts, request and response', async () => {
  // The endpoint fails once.
  const { sink } = stage;
  sink.on('/twice', [{ status: 503, body: 'not now' }, { status: 200 }]);
  const { send, destination } = await stage.connect({ webhooks: [{ url: sink.url('/twice') }] });
  const { messageId, userId } = await send();
  const list = await stage.ask(`/deliveries?message=${messageId}`, ({ data }) =>
    expect(data[0]?.status).toBe('delivered'),
  );
  expect(list.data).toHaveLength(1);
  expect(list.data[0]).toMatchObject({ destination: destination.id, userId, attemptsMade: 2 });

  const { body } = await stage.system.control('GET', `/deliveries/${list.data[0].id}`);
  expect(body.attempts.map(({ outcome }: Json) => outcome)).toEqual(['retry', 'delivered']);
  expect(body.attempts[0].urls[0]).toMatchObject({ status: 503, response: { body: 'not now' } });
  const [, request] = await sink.waitFor(2, { path: '/twice' });
  expect(JSON.stringify(body.body)).toBe(request!.body.toString());
  expect(request!.headers['webhook-id']).toBe(body.id);
});

test('an event that no destination takes is found by id and by user, with the reason', async () => {
  const { sink } = stage;
  const { send, destination } = await stage.connect({
    types: ['page'],
    webhooks: [{ url: sink.url('/pages-only') }],
  });
  const { messageId, userId } = await send(aTrack({ userId: 'user-nowhere' }));
  for (const query of [`message=${messageId}`, `user=${userId}`]) {
    const found = await stage.ask(`/lookup?${query}`, ({ data }) => expect(data).toHaveLength(1));
    expect(found.data[0]).toMatchObject({
      message: messageId,
      destinations: [{ id: destination.id, outcome: 'not_matched', reason: 'type' }],
    });
  }
});

test('a replay sends dead letters again with their ids, and no successful delivery', async () => {
  const { sink } = stage;
  sink.on('/mended', { status: 422 });
  const { send, destination } = await stage.connect({ webhooks: [{ url: sink.url('/mended') }] });
  for (let i = 0; i < 5; i++) await send(aTrack({ userId: `user-${i}` }));
  const dead = await stage.ask(
    `/deliveries?destination=${destination.id}&status=dead`,
    ({ data }) => expect(data).toHaveLength(5),
  );
  sink.on('/mended', { status: 200 });
  await send();
  await stage.ask(`/deliveries?destination=${destination.id}&status=delivered`, ({ data }) =>
    expect(data).toHaveLength(1),
  );

  const counted = await finished(
    (await post('/replays', { destination: destination.id, preview: true })).id,
  );
  expect(counted).toMatchObject({ asked: 5, attempted: 0 });
  const replay = await finished((await post('/replays', { destination: destination.id })).id);
  expect(replay).toMatchObject({ asked: 5 });
  const ids = (dead.data as Json[]).map(({ id }) => id as string).sort();
  const delivered = await stage.ask(
    `/deliveries?destination=${destination.id}&status=delivered`,
    ({ data }) => expect(data).toHaveLength(6),
  );
  const replayed = (delivered.data as Json[]).filter((each) => each.replay === 1);
  expect(replayed.map(({ id }) => id as string).sort()).toEqual(ids);
  const requests = await sink.waitFor(11, { path: '/mended' });
  expect(
    requests
      .slice(6)
      .map(({ headers }) => headers['webhook-id']!)
      .sort(),
  ).toEqual(ids);
  // A second replay finds nothing to send.
  expect(
    await finished((await post('/replays', { destination: destination.id })).id),
  ).toMatchObject({ asked: 0 });
});

test('a replay that is cancelled, resumed and killed sends each dead letter once', async () => {
  // Forty dead letters match; five successful deliveries and the dead letters of another endpoint
  // do not.
  const { sink, system } = stage;
  sink.on('/recovered', { status: 422 });
  sink.on('/other', { status: 422 });
  const { source, send, destination } = await stage.connect({
    webhooks: [{ url: sink.url('/recovered') }],
  });
  await system.createDestination({ sources: [source.id], webhooks: [{ url: sink.url('/other') }] });
  await stage.settled();
  await Promise.all(Array.from({ length: 40 }, (_, i) => send(aTrack({ userId: `user-${i}` }))));
  const dead = await stage.ask(
    `/deliveries?destination=${destination.id}&status=dead&limit=100`,
    ({ data }) => expect(data).toHaveLength(40),
  );
  sink.on('/recovered', { status: 200 });
  sink.on('/other', { status: 200 });
  for (let i = 0; i < 5; i++) await send();
  await sink.waitFor(45, { path: '/recovered' });
  await sink.waitFor(45, { path: '/other' });

  const { id } = await post('/replays', { destination: destination.id, maxPerSecond: 5 });
  await sink.waitFor(53, { path: '/recovered' });
  const cancelled = (await post(`/replays/${id}/cancel`)) as { status: string; asked: number };
  expect(cancelled).toMatchObject({ status: 'cancelled' });
  expect(cancelled.asked).toBeLessThan(40);
  expect(await post(`/replays/${id}/resume`)).toMatchObject({ status: 'running' });
  await sink.waitFor(45 + cancelled.asked + 4, { path: '/recovered' });
  const [pid] = system.pids('control');
  system.kill('control', 'SIGKILL');
  await eventually(
    async () => {
      expect(system.pids('control')).not.toContain(pid);
      const { body } = await system.control('GET', `/replays/${id}`);
      expect(body).toMatchObject({ status: 'done', asked: 40 });
    },
    { deadlineMs: 120_000 },
  );
  const requests = await sink.waitFor(85, { path: '/recovered' });
  const replayed = requests.slice(45).map(({ headers }) => headers['webhook-id']!);
  expect(replayed.sort()).toEqual((dead.data as Json[]).map((each) => each.id as string).sort());
  expect(await sink.waitFor(45, { path: '/other' })).toHaveLength(45);
}, 300_000);

test('the replay of one delivery sends it again with the same id and body', async () => {
  const { sink } = stage;
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/again') }] });
  const { messageId } = await send();
  const { data } = await stage.ask(`/deliveries?message=${messageId}`, (body) =>
    expect(body.data).toHaveLength(1),
  );
  expect(await post(`/deliveries/${data[0].id}/replay`)).toMatchObject({ replay: 1 });
  const [first, second] = await sink.waitFor(2, { path: '/again' });
  expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
  expect(second!.body.equals(first!.body)).toBe(true);
});

test('a replay sends a new destination the old messages that routing selects', async () => {
  const { sink, system } = stage;
  const { send, source } = await stage.connect({ webhooks: [{ url: sink.url('/old') }] });
  const wanted = await send();
  await send(aTrack({ integrations: { All: false } }));
  await sink.waitFor(1, { path: '/old' });
  const fresh = await system.createDestination({
    sources: [source.id],
    webhooks: [{ url: sink.url('/new') }],
  });
  await stage.settled();
  const replay = await finished(
    (await post('/replays', { destination: fresh.id, origin: 'messages' })).id,
  );
  expect(replay).toMatchObject({ asked: 1 });
  const [request] = await sink.waitFor(1, { path: '/new' });
  expect(JSON.parse(request!.body.toString())).toMatchObject({ messageId: wanted.messageId });
});

test("in a rotation's overlap ingest accepts both write keys, and then the new one", async () => {
  const { sink, system } = stage;
  const { source } = await stage.connect({ webhooks: [{ url: sink.url('/rotated') }] });
  const { writeKey } = await post(`/sources/${source.id}/rotate-key`, { overlap: '1h' });
  const status = async (key: string) => (await system.send(key, 'track', aTrack())).status;
  await eventually(async () => expect(await status(writeKey)).toBe(200));
  expect(await status(source.writeKey)).toBe(200);
  const newest = (await post(`/sources/${source.id}/rotate-key`, { overlap: '0s' })).writeKey;
  await eventually(async () => expect(await status(source.writeKey)).toBe(401));
  expect([await status(writeKey), await status(newest)]).toEqual([401, 200]);
});

test('the deletion of a user reaches destinations, and history keeps nothing else', async () => {
  const { sink } = stage;
  const { send, source } = await stage.connect({ webhooks: [{ url: sink.url('/deleted') }] });
  await send(aTrack({ userId: 'leaving' }));
  await stage.ask('/deliveries?user=leaving&status=delivered', ({ data }) =>
    expect(data).toHaveLength(1),
  );
  const deletion = await post('/deletions', { userIds: ['leaving'], sources: [source.id] });
  expect(deletion).toMatchObject({ affected: [source.id], messages: 1 });
  const [, request] = await sink.waitFor(2, { path: '/deleted' });
  expect(JSON.parse(request!.body.toString())).toEqual({
    type: 'delete',
    userId: 'leaving',
    timestamp: deletion.at,
  });
  await stage.ask('/deliveries?user=leaving', ({ data }) =>
    expect((data as Json[]).map(({ type, status }) => [type, status])).toEqual([
      ['delete', 'delivered'],
    ]),
  );
});

test("the debugger shows a source's accepted and rejected calls, with the reasons", async () => {
  const { sink, system } = stage;
  const { source } = await stage.connect({ webhooks: [{ url: sink.url('/debug') }] });
  const good = aTrack();
  await system.send(source.writeKey, 'batch', {
    batch: [good, { type: 'track', event: 'nobody' }],
  });
  const { data } = await stage.ask(`/events?source=${source.id}`, (body) =>
    expect(body.data).toHaveLength(2),
  );
  const rejected = (data as Json[]).find(({ accepted }) => !accepted);
  expect(rejected).toMatchObject({ code: 'no_user_anon_id', call: { event: 'nobody' } });
  expect((data as Json[]).find(({ accepted }) => accepted).call.messageId).toBe(good.messageId);
});

test('after a kill of control the history is complete, and includes the outage', async () => {
  const { sink, system } = stage;
  const { send, destination } = await stage.connect({ webhooks: [{ url: sink.url('/kept') }] });
  await send();
  await stage.ask(`/deliveries?destination=${destination.id}`, ({ data }) =>
    expect(data).toHaveLength(1),
  );
  const [pid] = system.pids('control');
  system.kill('control', 'SIGKILL');
  await send();
  await sink.waitFor(2, { path: '/kept' });
  await eventually(
    async () => {
      expect(system.pids('control')).not.toContain(pid);
      const { status, body } = await system.control(
        'GET',
        `/deliveries?destination=${destination.id}`,
      );
      expect([status, body.data?.length]).toEqual([200, 2]);
    },
    { deadlineMs: 120_000 },
  );
});
