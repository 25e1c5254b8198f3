import { DELIVERIES_HEADER } from '../../shared/model/batch';
import { type ReceivedRequest } from '../../tools/harness/sink';
import { eventually } from '../support/eventually';
import { someTracks } from '../support/factories';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { isSignedBy } from '../support/verify-signature';

/**
 * Batches from HTTP to HTTP: partial failures, rejections, and a delivery process that is killed or
 * stopped, also with single requests in flight.
 */

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLw==';

let stage: StorySystem;
beforeAll(async () => {
  // The time-out is longer than an endpoint is made to wait here, and shorter than the 25 s that
  // delivery has to stop.
  const env = { WAYPOST_RETRY_DELAYS: '500ms,2s', WAYPOST_TIMEOUT: '20s' };
  stage = await openStorySystem({ env });
});
afterAll(() => stage.close());

const eventsIn = ({ body }: ReceivedRequest) =>
  JSON.parse(body.toString()) as { messageId: string }[];
const idsIn = ({ headers }: ReceivedRequest) => headers[DELIVERIES_HEADER]?.split(',') ?? [];

/** Connects a destination with batches, and sends it this many tracks in one call. */
async function send(
  path: string,
  count: number,
  batch: object,
): Promise<{ connection: Connection; ids: string[] }> {
  const webhooks = [{ url: stage.sink.url(path) }];
  const connection = await stage.connect({ webhooks, sharedSecret: SECRET, batch, shards: 1 });
  const calls = someTracks(count);
  expect(
    (await stage.system.send(connection.source.writeKey, 'batch', { batch: calls })).status,
  ).toBe(200);
  return { connection, ids: calls.map(({ messageId }) => messageId) };
}

async function deliveriesOf({ destination }: Connection) {
  const { body } = await stage.system.control(
    'GET',
    `/deliveries?destination=${destination.id}&limit=200`,
  );
  return (
    body as { data: { id: string; messageId: string; status: string; reason: string | null }[] }
  ).data;
}

test('a receiver that names two of ten events gets them again, as history shows', async () => {
  const path = '/partial';
  stage.sink.on(path, (request) => {
    const failed =
      eventsIn(request).length < 10
        ? []
        : [
            { index: 2, status: 503 },
            { index: 5, status: 422 },
          ];
    return { body: JSON.stringify({ failed }) };
  });
  const { connection, ids } = await send(path, 10, { maxEvents: 10, maxWait: '2s' });
  const [first, again] = await stage.sink.waitFor(2, { path });
  expect(eventsIn(first!)).toHaveLength(10);
  for (const request of [first!, again!]) {
    expect(isSignedBy(SECRET, request)).toBe(true);
    expect(request.headers['content-type']).toBe('application/json');
    expect(request.headers['webhook-id']).toMatch(/^bat_/);
  }
  expect(idsIn(again!)).toEqual([idsIn(first!)[2]]);
  expect(eventsIn(again!)).toEqual([eventsIn(first!)[2]]);
  await eventually(async () => {
    const statuses = (await deliveriesOf(connection)).map(({ status }) => status).sort();
    expect(statuses).toEqual(['dead', ...ids.slice(1).map(() => 'delivered')]);
  });
  const { body } = await stage.system.control('GET', `/deliveries/${idsIn(first!)[2]}`);
  expect(body).toMatchObject({
    attempts: [
      {
        n: 1,
        outcome: 'retry',
        urls: [{ status: 503, batch: { id: first!.headers['webhook-id'], size: 10, index: 2 } }],
      },
      {
        n: 2,
        outcome: 'delivered',
        urls: [{ status: 200, batch: { id: again!.headers['webhook-id'], size: 1, index: 0 } }],
      },
    ],
  });
  const { body: members } = await stage.system.control(
    'GET',
    `/deliveries?batch=${first!.headers['webhook-id']}`,
  );
  expect((members as { data: { id: string }[] }).data.map(({ id }) => id).sort()).toEqual(
    idsIn(first!).sort(),
  );
});

test('answering 400 to a batch with one bad event rejects that event alone at once', async () => {
  const path = '/halved';
  let bad = '';
  stage.sink.on(path, (request) => {
    bad ||= eventsIn(request)[6]?.messageId ?? '';
    return { status: eventsIn(request).some(({ messageId }) => messageId === bad) ? 400 : 204 };
  });
  const { connection, ids } = await send(path, 16, { maxEvents: 16, maxWait: '30s' });
  await eventually(async () => {
    const ended = (await deliveriesOf(connection)).map(({ messageId, status }) => [
      messageId,
      status,
    ]);
    const expected = ids.map((id) => [id, id === bad ? 'dead' : 'delivered']);
    expect(ended.sort()).toEqual(expected.sort());
  });
  const sizes = stage.sink.received(path).map((request) => eventsIn(request).length);
  expect(sizes.sort((a, b) => b - a)).toEqual([16, 8, 8, 4, 4, 2, 2, 1, 1]);
  expect(stage.topics.eventsOf(bad).at(-1)).toMatchObject({ kind: 'dead', reason: 'rejected' });
});

test('a kill of delivery with batches in flight loses no event and changes no ids', async () => {
  const path = '/killed';
  let isKilled = false;
  stage.sink.on(path, () => (isKilled ? {} : { misbehave: 'hang' }));
  const { ids } = await send(path, 200, { maxEvents: 5, maxWait: '100ms' });
  await stage.sink.waitFor(5, { path });
  isKilled = true;
  stage.system.kill('delivery');
  const delivered = (id: string) =>
    stage.topics.attemptsOf(id).filter(({ outcome }) => outcome === 'delivered');
  await eventually(() => expect(ids.filter((id) => delivered(id).length === 0)).toEqual([]), {
    deadlineMs: 120_000,
  });
  // Every event has one id in all of its batches, and one end.
  const byMessage = new Map<string, Set<string>>();
  for (const request of stage.sink.received(path)) {
    eventsIn(request).forEach(({ messageId }, i) => {
      byMessage.set(
        messageId,
        (byMessage.get(messageId) ?? new Set()).add(idsIn(request)[i] ?? ''),
      );
    });
  }
  expect([...byMessage.values()].every((set) => set.size === 1)).toBe(true);
  expect(ids.filter((id) => delivered(id).length !== 1)).toEqual([]);
});

test('a stop of delivery hands back gathering events, and the next sends each once', async () => {
  const path = '/stopped';
  // They gather until the stop, however long that takes.
  const { ids, connection } = await send(path, 20, { maxEvents: 100, maxWait: '1m' });
  await stage.settled();
  const before = stage.system.pids('delivery');
  const startedAt = Date.now();
  stage.system.kill('delivery', 'SIGTERM');
  await eventually(() => expect(stage.system.pids('delivery')).not.toContain(before[0]), {
    everyMs: 20,
  });
  expect(stage.sink.received(path)).toEqual([]);
  await connection.change({ batch: { maxEvents: 20, maxWait: '100ms' } });
  process.stdout.write(
    `delivery with events that gather stopped within ${Date.now() - startedAt} ms\n`,
  );
  await eventually(
    () => {
      const arrived = stage.sink
        .received(path)
        .flatMap((request) => eventsIn(request).map(({ messageId }) => messageId));
      expect(arrived.sort()).toEqual([...ids].sort());
    },
    { deadlineMs: 120_000 },
  );
});

test('delivery finishes open requests, and the next process sends the rest once', async () => {
  const path = '/patient';
  const { system, sink, topics } = stage;
  // Given an endpoint that holds its answers, and more calls than its lane may have in flight.
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  sink.on(path, async () => {
    await answered;
    return {};
  });
  const { source } = await stage.connect({ webhooks: [{ url: sink.url(path) }] });
  const calls = someTracks(100);
  expect((await system.send(source.writeKey, 'batch', { batch: calls })).status).toBe(200);
  const inFlight = 20;
  await sink.waitFor(inFlight, { path });
  // A later call was delivered: delivery has read all of these.
  await stage.settled();

  // When delivery gets SIGTERM, and then the endpoint answers.
  const before = system.pids('delivery');
  const [pid] = before;
  system.kill('delivery', 'SIGTERM');
  await eventually(async () => {
    const port = system.env.WAYPOST_DELIVERY_HEALTH_PORT!;
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) throw new Error('delivery is not stopping yet');
  });
  answer();
  await eventually(() => expect(system.pids('delivery')).not.toContain(pid), { everyMs: 20 });

  // Then it has sent only the requests in flight. Its successor sends the rest, and each call
  // arrives once.
  expect(sink.received(path)).toHaveLength(inFlight);
  await eventually(() => expect(sink.deliveries(path).distinct).toBe(calls.length), {
    deadlineMs: 120_000,
  });
  await eventually(() => {
    for (const { messageId } of calls) expect(topics.attemptsOf(messageId)).toHaveLength(1);
  });
  expect(sink.deliveries(path).repeats).toBe(0);
});
