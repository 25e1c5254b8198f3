import { gunzipSync } from 'node:zlib';
import { HTTP } from 'cloudevents';
import { type Delivery } from '../../shared/api/operations';
import { startHttpProxy, type TestProxy } from '../support/egress-proxies';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { isSignedBy } from '../support/verify-signature';

/**
 * Requests in the shape that the receiver wants: method, body, headers and compression. They pass
 * the egress proxy of the setting, which is in a network that is not allowed.
 */

const SECRET = 'a secret of the tests';
const PROXY_HOST = '127.0.0.2';
let stage: StorySystem;
let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startHttpProxy('works', PROXY_HOST);
  const env = {
    WAYPOST_ALLOWED_NETWORKS: '127.0.0.1/32',
    WAYPOST_EGRESS_PROXY: `http://${PROXY_HOST}:${String(proxy.port)}`,
    WAYPOST_PROXY_RESOLVES: 'true',
  };
  stage = await openStorySystem({ env, together: true });
});
afterAll(async () => {
  await stage.close();
  await proxy.close();
});

test("the set proxy gets names, and a destination's is in no forbidden network", async () => {
  const { sink, system, topics } = stage;
  const named = (path: string) => sink.url(path).replace('127.0.0.1', 'localhost');
  const { send, source } = await stage.connect({ webhooks: [{ url: named('/by-name') }] });
  const own = {
    webhooks: [{ url: sink.url('/forbidden') }],
    proxy: `http://${PROXY_HOST}:${String(proxy.port)}`,
  };
  const { id } = await system.createDestination({ sources: [source.id], ...own });
  await system.createDestination({
    sources: [source.id],
    webhooks: [{ url: sink.url('/direct') }],
    proxy: 'none',
  });
  await stage.settled();
  const asked = proxy.asked.length;
  const { messageId } = await send();
  for (const path of ['/by-name', '/direct']) await sink.waitFor(1, { path });
  expect(proxy.asked.slice(asked)).toEqual([`localhost:${String(sink.port)}`]);
  const { urls } = await topics.event(
    messageId,
    'attempt',
    ({ destination }) => destination === id,
  );
  const message = expect.stringContaining(`the proxy ${PROXY_HOST}`);
  expect(urls).toMatchObject([
    { outcome: 'rejected', error: { code: 'forbidden_address', message } },
  ]);
  expect(sink.received('/forbidden')).toEqual([]);
});

test('a destination sends its own compressed and signed request as previewed', async () => {
  const { sink, system } = stage;
  const request = {
    method: 'PUT',
    body:
      '{"z": properties.total, "10": 2.0, "products": properties.products.map(p, p.sku), ' +
      '"text": properties.text}',
    headers: { 'X-User': 'userId + "/" + type' },
    gzipAbove: 100,
  };
  const fields = { webhooks: [{ url: sink.url('/own') }], sharedSecret: SECRET, request };
  const { send, destination } = await stage.connect(fields);
  const text = 'x'.repeat(20_000);
  const properties = { total: 5, products: [{ sku: 'a' }, { sku: 'b' }], text };
  const call = await send(aTrack({ properties }));

  const [received] = await sink.waitFor(1, { path: '/own' });
  const body = `{"z":5,"10":2,"products":["a","b"],"text":"${text}"}`;
  expect(received).toMatchObject({
    method: 'PUT',
    headers: {
      'x-user': 'user-1/track',
      'content-encoding': 'gzip',
      'content-type': 'application/json',
    },
  });
  const plain = gunzipSync(received!.body);
  expect(plain.toString()).toBe(body);
  expect(isSignedBy(SECRET, { ...received!, body: plain })).toBe(true);
  const preview = await system.control('POST', '/destinations/preview', {
    destination: destination.id,
    message: call,
  });
  expect(preview.body).toMatchObject({ method: 'PUT', body });
  const shown = (preview.body as { headers: Record<string, string> }).headers;
  for (const [name, value] of Object.entries(shown)) {
    expect([name, received!.headers[name] !== undefined]).toEqual([name, true]);
    if (value !== '***' && name !== 'webhook-id') expect(received!.headers[name]).toBe(value);
  }
  expect(shown['x-signature']).toBe('***');
  const history = await eventually(async () => {
    const { body: found } = await system.control('GET', `/deliveries?message=${call.messageId}`);
    const [{ id }] = (found as { data: [{ id: string }] }).data;
    return (await system.control('GET', `/deliveries/${id}`)).body as Delivery;
  });
  expect(history.attempts[0]!.urls[0]).toMatchObject({
    gzip: true,
    request: { headers: { 'content-encoding': 'gzip' } },
  });
});

test('destinations of one message get their formats, and the default is unchanged', async () => {
  const { sink, system } = stage;
  const { send, source } = await stage.connect({ webhooks: [{ url: sink.url('/plain') }] });
  const formats = ['cloudevents-binary', 'slack', 'text'];
  for (const format of formats) {
    const request = format === 'text' ? { body: 'event + " by " + userId' } : { format };
    await system.createDestination({
      sources: [source.id],
      webhooks: [{ url: sink.url(`/${format}`) }],
      request,
    });
  }
  await stage.settled();
  const { messageId } = await send();

  const [plain] = await sink.waitFor(1, { path: '/plain' });
  const [event, slack, text] = await Promise.all(
    formats.map(async (format) => (await sink.waitFor(1, { path: `/${format}` }))[0]!),
  );
  expect(JSON.parse(plain!.body.toString())).toMatchObject({
    version: 1,
    type: 'track',
    messageId,
  });
  expect(event!.body.equals(plain!.body)).toBe(true);
  expect(HTTP.toEvent({ headers: event!.headers, body: event!.body.toString() })).toMatchObject({
    id: messageId,
  });
  expect(JSON.parse(slack!.body.toString())).toMatchObject({ text: 'Order Completed' });
  expect([text!.body.toString(), text!.headers['content-type']]).toEqual([
    'Order Completed by user-1',
    'text/plain; charset=utf-8',
  ]);
});

test('a body that cannot render is a dead letter, and replays after a fix send it', async () => {
  const { sink, system, topics } = stage;
  const broken = { body: '{"coupon": properties.coupon}' };
  const { send, change, destination } = await stage.connect({
    webhooks: [{ url: sink.url('/mended') }],
    request: broken,
  });
  const [one, all] = [await send(), await send()];

  const letters = await Promise.all([one, all].map(({ messageId }) => topics.dead(messageId)));
  for (const { delivery, body } of letters) {
    expect(delivery).toMatchObject({
      reason: 'render_failed',
      error: 'request/body: there is no "coupon"',
    });
    expect(JSON.parse(body.toString())).toMatchObject({
      field: 'body',
      record: { topic: 'messages' },
    });
  }
  const [first, second] = letters.map(({ delivery }) => delivery.id);
  const show = async (id = '') =>
    (await system.control('GET', `/deliveries/${id}`)).body as Record<string, unknown>;
  await eventually(async () => {
    for (const id of [first, second]) {
      expect(await show(id)).toMatchObject({
        status: 'dead',
        reason: 'render_failed',
        body: null,
        attempts: [],
        lastError: { code: 'render_failed', message: 'request/body: there is no "coupon"' },
      });
    }
  });
  const replay = (id: string | undefined, body: object) =>
    system.control('POST', `/deliveries/${id}/replay`, body);
  const refused = await replay(first, { render: 'again' });
  expect([refused.status, refused.body]).toMatchObject([
    422,
    { errors: [{ pointer: '#/request/body' }] },
  ]);

  await change({ request: { body: '{"order": properties.orderId}' } });
  await stage.settled();
  expect((await replay(first, { render: 'again' })).status).toBe(202);
  const job = await system.control('POST', '/replays', { destination: destination.id });
  expect(job.status).toBe(202);
  // The job begins once the history has read what precedes it.
  const requests = await sink.waitFor(2, { path: '/mended', timeoutMs: 120_000 });
  expect(requests.map(({ body }) => body.toString())).toEqual([
    '{"order":"A-17"}',
    '{"order":"A-17"}',
  ]);
  expect(new Set(requests.map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set([first, second]),
  );
  await eventually(async () => {
    for (const id of [first, second]) {
      expect(await show(id)).toMatchObject({ status: 'delivered', replay: 1 });
    }
  });

  // As it was sent, and again by other settings.
  await change({ request: { body: '{"user": userId}', method: 'PATCH' } });
  await stage.settled();
  expect((await replay(first, {})).status).toBe(202);
  const [same] = (await sink.waitFor(3, { path: '/mended' })).slice(2);
  expect([same!.method, same!.body.toString()]).toEqual(['POST', '{"order":"A-17"}']);
  await eventually(async () =>
    expect(await show(first)).toMatchObject({ status: 'delivered', replay: 2 }),
  );
  expect((await replay(first, { render: 'again' })).status).toBe(202);
  const [other] = (await sink.waitFor(4, { path: '/mended' })).slice(3);
  expect([other!.method, other!.body.toString()]).toEqual(['PATCH', '{"user":"user-1"}']);
});
