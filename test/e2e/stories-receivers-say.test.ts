import { aTrack } from '../support/factories';
import { eventually } from '../support/eventually';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { type Json } from '../../tools/harness/api';

/** Receivers that say what they want of later requests. */

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({
    env: { WAYPOST_RETRY_DELAYS: '500ms,2s' },
    together: true,
  });
});
afterAll(() => stage.close());

/** Requests a path until the response passes the check. */
async function ask(path: string, fits: (body: Json) => void): Promise<Json> {
  return eventually(async () => {
    const { status, body } = await stage.system.control('GET', path);
    expect(status).toBe(200);
    fits(body);
    return body;
  });
}
const post = (path: string, body: object) => stage.system.control('POST', path, body);
const webhookOf = async (
  { destination }: Connection,
  fits: (webhook: Json) => void,
): Promise<Json> =>
  (await ask(`/destinations/${destination.id}`, ({ webhooks }) => fits(webhooks[0]))).webhooks[0];
/** Sends a call, and resolves with its delivery once that has ended. */
const sendAndWait = async (connection: Connection, status: string): Promise<Json> => {
  const { messageId } = await connection.send(aTrack());
  const { data } = await ask(`/deliveries?message=${messageId}`, ({ data: found }) =>
    expect(found[0]?.status).toBe(status),
  );
  return data[0];
};

test('a URL that answers 410 gets nothing more until somebody switches it on', async () => {
  const { sink } = stage;
  sink.on('/gone', { status: 410 });
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/gone') }] });
  const { id } = connection.destination;
  expect(await sendAndWait(connection, 'dead')).toMatchObject({
    reason: 'url_disabled',
    lastStatusCode: 410,
  });
  for (let i = 0; i < 3; i++) {
    expect(await sendAndWait(connection, 'dead')).toMatchObject({
      reason: 'url_disabled',
      attemptsMade: 0,
    });
  }
  expect(sink.received('/gone')).toHaveLength(1);
  const { id: webhook } = await webhookOf(connection, ({ disabled }) =>
    expect(disabled).toEqual({ at: expect.any(String), reason: 'gone' }),
  );
  await ask(`/notices?destination=${id}&kind=webhook_disabled`, ({ data }) =>
    expect(data).toMatchObject([{ kind: 'webhook_disabled', webhook, endedAt: null }]),
  );

  sink.on('/gone', { status: 200 });
  const enabled = await post(`/destinations/${id}/enable-webhook`, { webhook });
  expect(enabled).toMatchObject({ status: 200, body: { lostSince: expect.any(String), count: 4 } });
  await stage.settled();
  const { body: replay } = await post('/replays', {
    destination: id,
    from: enabled.body.lostSince,
    status: 'dead',
  });
  await ask(`/replays/${replay.id}`, ({ status, delivered }) =>
    expect([status, delivered]).toEqual(['done', 4]),
  );
  await sendAndWait(connection, 'delivered');
  expect(sink.received('/gone')).toHaveLength(6);
  await ask(`/notices?destination=${id}&kind=webhook_disabled`, ({ data }) =>
    expect(data).toMatchObject([{ kind: 'webhook_disabled', endedAt: expect.any(String) }]),
  );
});

test('a URL that answers 410 leaves the others alone, and is on with another address', async () => {
  const { sink } = stage;
  sink.on('/one-gone', { status: 410 }).on('/other', { status: 200 });
  const connection = await stage.connect({
    webhooks: [{ url: sink.url('/one-gone') }, { url: sink.url('/other') }],
  });
  await sendAndWait(connection, 'partly_delivered');
  await sendAndWait(connection, 'delivered');
  expect([sink.received('/one-gone').length, sink.received('/other').length]).toEqual([1, 2]);
  const webhook = await webhookOf(connection, ({ disabled }) =>
    expect(disabled?.reason).toBe('gone'),
  );
  await connection.change({
    webhooks: [{ id: webhook.id, url: sink.url('/moved') }, { url: sink.url('/other') }],
  });
  sink.on('/moved', { status: 200 });
  await stage.settled();
  await sendAndWait(connection, 'delivered');
  await sink.waitFor(1, { path: '/moved' });
});

test('a URL that answers a test with 410 goes on', async () => {
  const { sink } = stage;
  sink.on('/tested', { status: 410 });
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/tested') }] });
  const tested = await post(`/destinations/${connection.destination.id}/test`, {});
  expect(tested.body).toMatchObject({ status: 'dead', attempt: { outcome: 'rejected' } });
  sink.on('/tested', { status: 200 });
  await sendAndWait(connection, 'delivered');
});

test('a receiver that asks for it gets a message never again, or nothing more', async () => {
  const { sink } = stage;
  const headers = { 'webhook-delivery': 'abort-message' };
  sink.on('/asks', { status: 500, headers });
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/asks') }] });
  expect(await sendAndWait(connection, 'dead')).toMatchObject({
    reason: 'aborted_by_receiver',
    attemptsMade: 1,
    attempts: [{ urls: [{ status: 500, asked: 'abort-message' }] }],
  });
  sink.on('/asks', {
    status: 503,
    headers: { 'webhook-delivery': 'disable', 'retry-after': '3600' },
  });
  expect(await sendAndWait(connection, 'dead')).toMatchObject({
    reason: 'url_disabled',
    attempts: [{ urls: [{ status: 503, asked: 'disable' }] }],
  });
  await sendAndWait(connection, 'dead');
  expect(sink.received('/asks')).toHaveLength(2);
  await webhookOf(connection, ({ disabled }) => expect(disabled?.reason).toBe('asked'));
});

test('a delivery that waits for a Retry-After names no time of its next attempt', async () => {
  const { sink } = stage;
  sink.on('/later', { status: 503, headers: { 'retry-after': '86400' } });
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/later') }] });
  const { id } = connection.destination;
  await connection.send();
  await connection.send();
  await ask(`/deliveries?destination=${id}`, ({ data }) => {
    expect(data).toMatchObject([
      { reason: 'retry_after', nextAttemptAt: null },
      { reason: 'retry_after', nextAttemptAt: null },
    ]);
  });
});
