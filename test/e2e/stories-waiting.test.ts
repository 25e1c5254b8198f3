import { standardSignature, hexSha1, isSignedBy } from '../support/verify-signature';
import { eventually } from '../support/eventually';
import { type Call } from '../support/factories';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';

/**
 * Changes that an operator makes while deliveries wait apply to their next attempt. The tests wait
 * together: each has its own destination.
 */

let stage: StorySystem;
beforeAll(async () => {
  // Long enough to change something while a delivery waits, on a busy machine too; short enough to
  // wait for.
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: '10s' } });
});
afterAll(() => stage.close());

/** Creates a destination whose only delivery has failed once and waits. */
async function waiting(path: string, fields: object = {}): Promise<Connection & { call: Call }> {
  stage.sink.on(path, [{ status: 503 }, {}]);
  const connection = await stage.connect({ webhooks: [{ url: stage.sink.url(path) }], ...fields });
  const call = await connection.send();
  await stage.topics.event(call.messageId, 'attempt', ({ outcome }) => outcome === 'retry');
  return { ...connection, call };
}

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
  'after a change of the secret a retry has the same body and is signed with the new secret alone',
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
      [standardSignature(generated, second!), standardSignature('the old secret', second!)].sort(),
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
  'a paused destination holds deliveries without spending attempts, and gets them after the pause',
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
