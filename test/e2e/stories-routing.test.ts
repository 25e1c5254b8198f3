import { type CallType, type JsonObject } from '../../shared/model/message';
import { MESSAGES } from '../../shared/kafka/topics';
import { eventually } from '../support/eventually';
import { aCall, aTrack, type Call } from '../support/factories';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { standardSignature, hexSha1, isSignedBy } from '../support/verify-signature';
import { FORMAT_HEADER } from '../../shared/model/record-format';

/**
 * Routing of messages to destinations, the exact bodies that arrive, and changes of a destination
 * while its deliveries wait.
 */

let stage: StorySystem;
beforeAll(async () => {
  // Long enough to change something while a delivery waits, on a busy machine too; short enough to
  // wait for.
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: '10s' }, together: true });
});
afterAll(() => stage.close());

/**
 * Sends the calls and one more that every destination accepts, and waits for the expected calls and
 * that one.
 */
async function expectArrivals(
  connection: Connection,
  path: string,
  calls: { no: Call[]; yes: Call[] },
): Promise<void> {
  // All calls have one user and so one partition: each is routed before the last one.
  const last = aTrack();
  for (const call of [...calls.no, ...calls.yes, last]) {
    await connection.send({ ...call, userId: last.userId });
  }
  const expected = [...calls.yes, last].map(({ messageId }) => messageId).sort();
  await eventually(() => {
    const bodies = stage.sink.received(path).map(({ body }) => JSON.parse(body.toString()) as Call);
    expect(bodies.map(({ messageId }) => messageId).sort()).toEqual(expected);
  });
  for (const { messageId } of calls.no) expect(stage.topics.eventsOf(messageId)).toEqual([]);
}

test('calls whose integrations exclude webhooks are not delivered', async () => {
  // Integrations occur in calls and in batches.
  const connection = await stage.connect({ webhooks: [{ url: stage.sink.url('/choices') }] });
  const wanted: JsonObject[] = [
    {},
    { integrations: {} },
    { integrations: { All: true } },
    { integrations: { Webhooks: true } },
    { integrations: { All: false, Webhooks: true } },
    { integrations: { all: false, Webhooks: { option: 1 } } },
    { integrations: { webhooks: false } },
    { integrations: { 'Segment.io': false } },
    { integrations: { Webhooks: true }, context: { integrations: { Webhooks: false } } },
    { context: { integrations: { All: false, Webhooks: true } } },
    { integrations: { Webhooks: null } },
  ];
  const unwanted: JsonObject[] = [
    { integrations: { Webhooks: false } },
    { integrations: { All: false } },
    { integrations: { all: false } },
    { integrations: { All: true, Webhooks: false } },
    { integrations: { All: false, webhooks: true } },
    { context: { integrations: { Webhooks: false } } },
    { context: { integrations: { All: false } } },
    { integrations: { Webhooks: false }, context: { integrations: { Webhooks: true } } },
  ];
  const calls = (choices: JsonObject[], kind: string) =>
    choices.map((choice, i) =>
      aTrack({ messageId: `${kind}-${i}-${JSON.stringify(choice)}`.slice(0, 99), ...choice }),
    );
  const [yes, no] = [calls(wanted, 'yes'), calls(unwanted, 'no')];
  await expectArrivals(connection, '/choices', { no, yes });
});

test('a destination gets the types that it lists, from its sources alone', async () => {
  const picky = await stage.connect({
    webhooks: [{ url: stage.sink.url('/picky') }],
    types: ['identify', 'track'],
  });
  const other = await stage.connect({ webhooks: [{ url: stage.sink.url('/other') }] });
  const types: CallType[] = ['identify', 'page', 'screen', 'group', 'alias'];
  const [identify, ...others] = types.map((type) => aCall(type));
  await expectArrivals(picky, '/picky', { no: others, yes: [identify!] });
  await expectArrivals(other, '/other', { no: [], yes: [] });
});

test('all destinations of a source get the same body with different delivery ids', async () => {
  const { sink, system } = stage;
  const { source, send } = await stage.connect({ webhooks: [{ url: sink.url('/fan/1') }] });
  await system.createDestination({ sources: [source.id], webhooks: [{ url: sink.url('/fan/2') }] });
  await stage.settled();
  await send();
  const [one] = await sink.waitFor(1, { path: '/fan/1' });
  const [two] = await sink.waitFor(1, { path: '/fan/2' });
  expect(one!.body.equals(two!.body)).toBe(true);
  expect(one!.headers['webhook-id']).not.toBe(two!.headers['webhook-id']);
});

test('the key of a source that is off is refused with 401 until it is on again', async () => {
  const { system, sink } = stage;
  const { source, send } = await stage.connect({ webhooks: [{ url: sink.url('/source') }] });
  const put = (enabled: boolean) => system.control('PATCH', `/sources/${source.id}`, { enabled });
  expect((await put(false)).status).toBe(200);
  const refused = await eventually(async () => {
    const answer = await system.send(source.writeKey, 'track', aTrack());
    expect(answer.status).toBe(401);
    return answer;
  });
  expect(refused.body).toMatchObject({ success: false, code: 'source_disabled' });
  const before = sink.received('/source').length;
  expect((await put(true)).status).toBe(200);
  await send();
  await sink.waitFor(before + 1, { path: '/source' });
});

test('a message that a client sends twice is delivered once', async () => {
  const connection = await stage.connect({ webhooks: [{ url: stage.sink.url('/twice') }] });
  const call = aTrack();
  await connection.send(call);
  await connection.send(call);
  await expectArrivals(connection, '/twice', { no: [], yes: [call] });
});

describe('the body, byte for byte', () => {
  const AT = '2026-11-21T08:00:00.000Z';
  const sent = {
    userId: 'kim',
    anonymousId: 'anon-1',
    timestamp: AT,
    context: { ip: '10.1.2.3' },
    integrations: { All: true },
  };
  const tail = (id: string) =>
    `"context":{"ip":"10.1.2.3"},"anonymousId":"anon-1","messageId":"${id}","integrations":{"All":true}}`;
  const head = (type: string) =>
    `{"version":1,"type":"${type}","userId":"kim","timestamp":"${AT}",`;
  const cases: [CallType, string][] = [
    [
      'page',
      `${head('page')}"properties":{"url":"https://shop.example/pricing"},"name":"Pricing","category":"Docs",`,
    ],
    ['screen', `${head('screen')}"name":"Cart","properties":{"items":3},`],
    ['identify', `${head('identify')}"traits":{"email":"kim@example.com","plan":"pro"},`],
    [
      'track',
      `${head('track')}"event":"Order Completed","properties":{"orderId":"A-17","total":12.5},`,
    ],
    [
      'alias',
      `{"version":1,"type":"alias","Previous ID":"visitor-9","User ID":"kim","timestamp":"${AT}",`,
    ],
    ['group', `${head('group')}"groupId":"team-4","traits":{"name":"Team Four"},`],
  ];
  let connection: Connection;
  beforeAll(async () => {
    connection = await stage.connect({ webhooks: [{ url: stage.sink.url('/bodies') }] });
  });

  async function bodyOf(messageId: string): Promise<string> {
    const { delivery } = await stage.topics.event(messageId, 'attempt');
    return stage.sink
      .received('/bodies')
      .find(({ headers }) => headers['webhook-id'] === delivery)!
      .body.toString();
  }

  test.each(cases)('a %s has its keys in the documented order', async (type, start) => {
    // The call has its keys in another order.
    const { messageId } = await connection.send(aCall(type, sent));
    expect(await bodyOf(messageId)).toBe(start + tail(messageId));
  });

  test('absent fields leave no empty keys in a body', async () => {
    const messageId = 'bare-track';
    const bare = {
      type: 'track',
      messageId,
      anonymousId: 'anon-1',
      event: 'Seen',
      timestamp: AT,
      properties: null,
    };
    expect((await stage.system.send(connection.source.writeKey, 'track', bare)).status).toBe(200);
    expect(await bodyOf(messageId)).toBe(
      `{"version":1,"type":"track","timestamp":"${AT}","event":"Seen","anonymousId":"anon-1","messageId":"bare-track"}`,
    );
  });

  test('text beyond ASCII arrives as UTF-8', async () => {
    const properties = {
      name: 'Žofie 🙂 \u2028 "quoted" \\ \u0000',
      nested: { 'key with space': [1.5, null, true] },
    };
    const { messageId } = await connection.send(aTrack({ properties, timestamp: AT }));
    expect(await bodyOf(messageId)).toContain(`"properties":${JSON.stringify(properties)}`);
  });

  test('the body of a deletion names the user and nothing else', async () => {
    const { topics } = stage;
    const message = {
      type: 'delete',
      messageId: 'delete-kim',
      userId: 'kim',
      timestamp: AT,
      receivedAt: AT,
    };
    const headers = {
      format: FORMAT_HEADER,
      source: connection.source.id,
      message: 'delete-kim',
      traceparent: '',
    };
    const producer = await topics.kafka.producer({
      maxPendingBytes: 1e6,
      deliveryTimeoutMs: 5_000,
    });
    const value = JSON.stringify(message);
    await producer.send([
      {
        topic: MESSAGES,
        key: `${connection.source.id}:kim`,
        value,
        headers: { ...headers, 'accepted-at': String(Date.now()) },
      },
    ]);
    await producer.close(1_000);
    expect(await bodyOf('delete-kim')).toBe(`{"type":"delete","userId":"kim","timestamp":"${AT}"}`);
  });
});

test('the timestamp of a call is corrected for the clock of its client', async () => {
  // The client's clock is a day behind; the delivered time is by the server's clock.
  const { source } = await stage.connect({ webhooks: [{ url: stage.sink.url('/clock') }] });
  const DAY_MS = 86_400_000;
  const clock = (agoMs: number) => new Date(Date.now() - DAY_MS - agoMs).toISOString();
  const batch = { sentAt: clock(0), batch: [aTrack({ timestamp: clock(60_000) })] };
  const from = Date.now();
  expect((await stage.system.send(source.writeKey, 'batch', batch)).body).toEqual({
    success: true,
  });
  const [request] = await stage.sink.waitFor(1, { path: '/clock' });
  const { timestamp } = JSON.parse(request!.body.toString()) as { timestamp: string };
  expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Math.abs(Date.parse(timestamp) - (from - 60_000))).toBeLessThan(10_000);
});

test('an invalid call is rejected alone, and the other calls of its batch arrive', async () => {
  // The invalid call names no user; the response says which call it is.
  const { source } = await stage.connect({ webhooks: [{ url: stage.sink.url('/batch') }] });
  const batch = [aTrack(), { type: 'track', event: 'Nobody' }, aTrack()];
  const answer = await stage.system.send(source.writeKey, 'batch', { batch });
  expect(answer).toMatchObject({
    status: 200,
    body: {
      success: true,
      rejected: [{ index: 1, code: 'no_user_anon_id', message: expect.any(String) }],
    },
  });
  await stage.sink.waitFor(2, { path: '/batch' });
});

test('a destination that is off gets a test send and no messages', async () => {
  // The response of the test send has the attempt.
  const { sink, system } = stage;
  const fields = {
    webhooks: [{ url: sink.url('/tested') }],
    enabled: false,
    sharedSecret: 'of the test',
  };
  const { destination, send } = await stage.connect(fields);
  await send();
  const answer = await system.control('POST', `/destinations/${destination.id}/test`, {
    type: 'identify',
    userId: 'tester',
  });
  expect(answer).toMatchObject({
    status: 200,
    body: {
      status: 'delivered',
      attempt: { n: 1, outcome: 'delivered', urls: [{ status: 200, response: { body: 'ok' } }] },
    },
  });
  const [request, ...more] = sink.received('/tested');
  expect(JSON.parse(request!.body.toString())).toMatchObject({
    type: 'identify',
    userId: 'tester',
  });
  expect(request!.headers['webhook-id']).toBe(answer.body.delivery);
  expect(more).toEqual([]);
});

test('the destinations of an audience get its members and no other users', async () => {
  // One user meets the condition before the audience exists, one afterwards, and one never.
  const events = await stage.connect({
    webhooks: [{ url: stage.sink.url('/audience-events') }],
    types: ['group'],
  });
  const told = await stage.connect({ webhooks: [{ url: stage.sink.url('/audience') }] });
  const [before, after, never] = ['before', 'after', 'never'].map(
    (name) => `${name}-${Date.now()}`,
  );
  const order = (userId: string | undefined) =>
    events.send({ ...aTrack(), event: 'Order Completed', userId: userId! });
  for (const user of [before, before, after, never]) await order(user);
  const condition = 'count("Order Completed", duration("24h")) >= 2';
  const about = { condition, sources: [events.source.id] };
  // The first definition of this system: until then nothing about users is stored.
  const asked = await stage.system.control('POST', '/audiences/preview', about);
  expect(asked.status).toBe(201);
  const { id: preview } = asked.body as { id: string };
  await eventually(
    async () => {
      const { body } = await stage.system.control('GET', `/audiences/previews/${preview}`);
      // A user of another test has two ids: the response says that events of before are left out.
      expect(body).toMatchObject({ phase: 'done', members: 1, sample: [{ userId: before }] });
    },
    { deadlineMs: 60_000 },
  );
  const made = await stage.system.control('POST', '/audiences', {
    name: 'VIP Customers',
    ...about,
    destinations: [told.destination.id],
    syncEvery: '1s',
  });
  expect(made.status).toBe(201);
  const bodies = () =>
    stage.sink.received('/audience').map(({ body }) => JSON.parse(body.toString()) as Call);
  const users = () => bodies().map(({ userId }) => userId);
  await eventually(
    () => {
      expect(users()).toEqual([before]);
    },
    { deadlineMs: 120_000 },
  );
  const { id, name } = made.body as { id: string; name: string };
  expect(bodies()[0]).toMatchObject({
    version: 1,
    type: 'identify',
    traits: { vip_customers: true },
    context: { audience: { id, name } },
  });
  await order(after);
  await eventually(
    () => {
      expect(users()).toEqual([before, after]);
    },
    { deadlineMs: 120_000 },
  );
  await eventually(async () => {
    const { body } = await stage.system.control('GET', `/audiences/${id}`);
    expect(body).toMatchObject({
      key: 'vip_customers',
      status: { phase: 'live', members: 2, sent: 2, waiting: 0 },
    });
  });
  const list = async (path: string) => {
    const { body } = await stage.system.control('GET', `/audiences/${id}/${path}`);
    return (body as { data: Record<string, unknown>[] }).data;
  };
  const members = await list('members');
  expect(members.map(({ userId, value }) => [userId, value]).sort()).toEqual(
    [
      [before, true],
      [after, true],
    ].sort(),
  );
  expect(await list(`members?user=${never}`)).toEqual([]);
  await eventually(
    async () => {
      expect((await list('syncs'))[0]).toMatchObject({ members: 2, sent: 2, waiting: 0 });
      expect((await list('sizes')).at(-1)).toMatchObject({ members: 2 });
    },
    { deadlineMs: 120_000 },
  );
});

/**
 * Changes that an operator makes apply to the next attempt. The tests wait together: each has its
 * own destination.
 */
describe('while deliveries wait', () => {
  /** Creates a destination whose only delivery has failed once and waits. */
  async function waiting(path: string, fields: object = {}): Promise<Connection & { call: Call }> {
    stage.sink.on(path, [{ status: 503 }, {}]);
    const connection = await stage.connect({
      webhooks: [{ url: stage.sink.url(path) }],
      ...fields,
    });
    const call = await connection.send();
    await stage.topics.event(call.messageId, 'attempt', ({ outcome }) => outcome === 'retry');
    return { ...connection, call };
  }

  test.concurrent(
    'a failed test send reports its status and causes no retry or dead letter',
    async () => {
      const { sink, system, topics } = stage;
      sink.on('/tested/down', { status: 503, body: 'not today' });
      const { destination } = await stage.connect({
        webhooks: [{ url: sink.url('/tested/down') }],
      });
      const answer = await system.control('POST', `/destinations/${destination.id}/test`, {});
      expect(answer).toMatchObject({
        status: 200,
        body: {
          status: 'dead',
          attempt: { outcome: 'retry', urls: [{ status: 503, response: { body: 'not today' } }] },
        },
      });
      // This delivery fails later, and comes back: a retry of the test would have come before.
      const { call } = await waiting('/marker');
      await topics.event(call.messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
      expect(sink.received('/tested/down')).toHaveLength(1);
    },
  );

  test.concurrent('switching a destination off cancels its waiting delivery', async () => {
    const { call, change } = await waiting('/off');
    await change({ enabled: false });
    expect(await stage.topics.event(call.messageId, 'cancelled')).toMatchObject({
      reason: 'destination_disabled',
      n: 1,
    });
    expect(stage.sink.received('/off')).toHaveLength(1);
    expect(stage.topics.deadOf(call.messageId)).toEqual([]);
  });

  test.concurrent('deleting a destination cancels its waiting delivery', async () => {
    const { call, destination } = await waiting('/deleted');
    expect((await stage.system.control('DELETE', `/destinations/${destination.id}`)).status).toBe(
      204,
    );
    expect(await stage.topics.event(call.messageId, 'cancelled')).toMatchObject({
      reason: 'destination_deleted',
      n: 1,
    });
    expect(stage.sink.received('/deleted')).toHaveLength(1);
  });

  test.concurrent(
    'after a new secret a retry has the same body, signed with the new secret alone',
    async () => {
      const { change } = await waiting('/secret', { sharedSecret: 'the old secret' });
      await change({ sharedSecret: 'the new secret' });
      const [first, second] = await stage.sink.waitFor(2, { path: '/secret' });
      expect(isSignedBy('the old secret', first!)).toBe(true);
      expect(isSignedBy('the new secret', second!)).toBe(true);
      expect(second!.body.equals(first!.body)).toBe(true);
    },
  );

  test.concurrent(
    'after a rotation a retry has webhook-signature of both secrets and X-Signature of the old one',
    async () => {
      const { destination } = await waiting('/rotated', { sharedSecret: 'the old secret' });
      const answer = await stage.system.control(
        'POST',
        `/destinations/${destination.id}/rotate-secret`,
        {
          overlap: '1h',
        },
      );
      expect(answer.status).toBe(200);
      const generated = answer.body.sharedSecret as string;
      const [, second] = await stage.sink.waitFor(2, { path: '/rotated' });
      const signatures = second!.headers['webhook-signature']!.split(' ');
      expect(signatures.sort()).toEqual(
        [
          standardSignature(generated, second!),
          standardSignature('the old secret', second!),
        ].sort(),
      );
      expect(second!.headers['x-signature']).toBe(hexSha1('the old secret', second!.body));
    },
  );

  test.concurrent(
    'once switchAt has passed X-Signature is of the new secret and webhook-signature of both',
    async () => {
      const { destination } = await waiting('/switched', { sharedSecret: 'the old secret' });
      const rotation = {
        overlap: '1h',
        switchAt: new Date().toISOString(),
        sharedSecret: 'the new secret',
      };
      expect(
        (
          await stage.system.control(
            'POST',
            `/destinations/${destination.id}/rotate-secret`,
            rotation,
          )
        ).status,
      ).toBe(200);
      const [, second] = await stage.sink.waitFor(2, { path: '/switched' });
      expect(second!.headers['x-signature']).toBe(hexSha1('the new secret', second!.body));
      expect(second!.headers['webhook-signature']!.split(' ')).toHaveLength(2);
    },
  );

  test.concurrent('after a change of the URL a retry goes to the new URL alone', async () => {
    const { change } = await waiting('/wrong');
    await change({ webhooks: [{ url: stage.sink.url('/right') }] });
    const [request] = await stage.sink.waitFor(1, { path: '/right' });
    expect(request!.headers['webhook-id']).toBe(
      stage.sink.received('/wrong')[0]!.headers['webhook-id'],
    );
    expect(stage.sink.received('/wrong')).toHaveLength(1);
  });

  test.concurrent(
    'a paused destination holds deliveries, and gets them after the pause',
    async () => {
      // One delivery already waits, and one comes during the pause.
      const { topics, sink } = stage;
      const { call, change, send } = await waiting('/paused');
      await change({ paused: true });
      const during = await send();
      for (const { messageId } of [call, during]) {
        expect(await topics.event(messageId, 'waiting')).toMatchObject({ reason: 'paused' });
      }
      expect(sink.received('/paused')).toHaveLength(1);
      await change({ paused: false });
      await sink.waitFor(3, { path: '/paused' });
      const done = await topics.event(
        call.messageId,
        'attempt',
        ({ outcome }) => outcome === 'delivered',
      );
      expect(done.n).toBe(2);
      expect((await topics.event(during.messageId, 'attempt')).n).toBe(1);
    },
  );

  test.concurrent('switching a destination on and off takes effect without a restart', async () => {
    const { system, sink } = stage;
    const { change, send } = await stage.connect({
      webhooks: [{ url: sink.url('/switch') }],
      enabled: false,
    });
    const before = ['router', 'delivery'].map((name) => system.pids(name as 'router'));
    await send();
    await change({ enabled: true });
    const from = Date.now();
    const on = await eventually(async () => {
      const { messageId } = await send();
      await sink.waitFor(1, { path: '/switch', timeoutMs: 100 });
      return messageId;
    });
    process.stdout.write(
      `a destination switched on got its first call after ${Date.now() - from} ms\n`,
    );
    expect(on).toBeDefined();
    await change({ enabled: false });
    await stage.settled();
    const seen = sink.received('/switch').length;
    const { messageId } = await send();
    await stage.settled();
    expect(sink.received('/switch')).toHaveLength(seen);
    expect(stage.topics.eventsOf(messageId)).toEqual([]);
    expect(['router', 'delivery'].map((name) => system.pids(name as 'router'))).toEqual(before);
  });
});
