import { randomBytes } from 'node:crypto';
import { defined } from '../../shared/collections/defined';
import { ATTEMPTS } from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { type Json } from '../../tools/harness/api';
import {
  common,
  type Connection,
  openStorySystem,
  type StorySystem,
} from '../support/story-system';
import { startHttpProxy, startSocksProxy } from '../support/egress-proxies';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { readTopic } from '../support/topics';
import { hexSha1, isSignedBy, standardSignature } from '../support/verify-signature';

/**
 * Responses of URLs and their effect on a delivery, which is retried, delivered or dead, and on
 * later ones. Most tests wait, so they wait together.
 */

const SECRET = 'a secret of the tests';
let stage: StorySystem;
beforeAll(async () => {
  const env = { WAYPOST_RETRY_DELAYS: '300ms,600ms', WAYPOST_TIMEOUT: '4s' };
  stage = await openStorySystem({ env, together: true });
});
afterAll(() => stage.close());

const firstOf = <T>(list: readonly T[]): T => list[0]!;

test.concurrent(
  'after two 503 the third attempt delivers the same body and webhook-id with a fresh signature',
  async () => {
    const { sink, topics } = stage;
    sink.on('/flaky', [{ status: 503 }, { status: 503 }, {}]);
    const { send } = await stage.connect({
      webhooks: [{ url: sink.url('/flaky') }],
      sharedSecret: SECRET,
    });
    const { messageId } = await send();

    const requests = await sink.waitFor(3, { path: '/flaky' });
    expect(common(requests, 'webhook-id')).toMatch(/^dlv_/);
    for (const request of requests) {
      expect(request.body.equals(requests[0]!.body)).toBe(true);
      expect(isSignedBy(SECRET, request)).toBe(true);
      expect(isSignedBy('another secret', request)).toBe(false);
    }
    await topics.event(messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
    const attempts = topics.attemptsOf(messageId);
    expect(attempts.map(({ n, outcome, urls }) => [n, outcome, firstOf(urls).status])).toEqual([
      [1, 'retry', 503],
      [2, 'retry', 503],
      [3, 'delivered', 200],
    ]);
    expect(attempts.map(({ delivery }) => delivery)).toEqual(
      requests.map(({ headers }) => headers['webhook-id']),
    );
    expect(attempts[0]).toMatchObject({ reason: 'backoff', nextAttemptAt: expect.any(String) });
    // A wait lasts at least as long as its tier.
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(300);
    expect(requests[2]!.at - requests[1]!.at).toBeGreaterThanOrEqual(600);
  },
);

test.concurrent(
  'a destination with a plan is retried by its delays, statuses and timeout, never early',
  async () => {
    const { sink, topics } = stage;
    // 5 s is longer than WAYPOST_TIMEOUT. The tiers are 300 ms and 600 ms: 700 ms are 900 ms, and 2
    // s are 2.1 s.
    sink.on('/planned', [{ status: 404 }, { status: 503 }, { delayMs: 5_000 }]);
    const retry = { delays: ['700ms', '2s'], window: '72h', timeout: '15s', on: [404] };
    const { send, destination } = await stage.connect({
      webhooks: [{ url: sink.url('/planned') }],
      retry,
    });
    const { body } = await stage.system.control('GET', `/destinations/${destination.id}`);
    expect(body).toMatchObject({
      retry: { ...retry, window: '3d', effectiveDelays: ['900ms', '2100ms'] },
    });
    const { messageId } = await send();

    const requests = await sink.waitFor(3, { path: '/planned' });
    await topics.event(messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
    const attempts = topics.attemptsOf(messageId);
    expect(attempts.map(({ n, outcome, urls }) => [n, outcome, firstOf(urls).status])).toEqual([
      [1, 'retry', 404],
      [2, 'retry', 503],
      [3, 'delivered', 200],
    ]);
    expect(Date.parse(attempts[0]!.expiresAt) - Date.parse(attempts[0]!.acceptedAt)).toBe(
      72 * 3_600_000,
    );
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(700);
    expect(requests[2]!.at - requests[1]!.at).toBeGreaterThanOrEqual(2_000);
  },
);

test.concurrent.each([
  ['http', 'hangs'],
  ['http', 'refuses'],
  ['http', 'closes'],
  ['socks5', 'hangs'],
  ['socks5', 'refuses'],
] as const)(
  'a proxy of type %s that %s holds only its own deliveries, with no attempt or open circuit',
  async (scheme, mood) => {
    const { sink, topics } = stage;
    const proxy = await (scheme === 'http' ? startHttpProxy() : startSocksProxy());
    try {
      const [behind, beside] = [`/behind-${scheme}-${mood}`, `/beside-${scheme}-${mood}`];
      const url = `${scheme}://127.0.0.1:${String(proxy.port)}`;
      const held = await stage.connect({ webhooks: [{ url: sink.url(behind) }], proxy: url });
      const free = await stage.connect({ webhooks: [{ url: sink.url(beside) }] });
      // Opens a tunnel, which the proxy closes or leaves silent.
      const first = await held.send();
      await topics.event(first.messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
      proxy.behave(mood);
      // More than the failures that open a circuit.
      const waiting = await Promise.all(Array.from({ length: 20 }, () => held.send()));
      const isProxys = ({ reason }: { reason: string }) => reason === 'proxy';
      for (const { messageId } of waiting) await topics.event(messageId, 'waiting', isProxys);
      const others = await Promise.all(Array.from({ length: 10 }, () => free.send()));
      await sink.waitFor(10, { path: beside });
      for (const one of others) {
        await topics.event(one.messageId, 'attempt');
        expect(topics.attemptsOf(one.messageId)).toMatchObject([{ n: 1, outcome: 'delivered' }]);
      }
      const attempts = () => waiting.map(({ messageId }) => topics.attemptsOf(messageId));
      expect([sink.received(behind).length, attempts().flat()]).toEqual([1, []]);

      proxy.behave('works');
      await eventually(() => {
        for (const made of attempts()) expect(made).toMatchObject([{ n: 1, outcome: 'delivered' }]);
      });
      expect(sink.received(behind)).toHaveLength(1 + waiting.length);
      const events = (await readTopic(topics.kafka, ATTEMPTS)).flatMap(({ value }) =>
        readEvents(value),
      );
      const circuits = events.filter(
        ({ kind, destination }) => kind === 'circuit' && destination === held.destination.id,
      );
      expect(circuits).toEqual([]);
    } finally {
      await proxy.close();
    }
  },
);

test.concurrent(
  'a secret with whsec_ signs as base64, others as UTF-8 bytes, and no secret gives no signature',
  async () => {
    const { sink } = stage;
    const signed = async (path: string, sharedSecret?: string) => {
      const { send } = await stage.connect({
        webhooks: [{ url: sink.url(path) }],
        ...defined({ sharedSecret }),
      });
      await send();
      return firstOf(await sink.waitFor(1, { path }));
    };
    const standard = `whsec_${randomBytes(24).toString('base64')}`;
    expect(isSignedBy(standard, await signed('/secret/standard', standard))).toBe(true);
    // The library treats the letters of a raw secret as bytes; the other two checks cover UTF-8.
    const umlauts = await signed('/secret/umlauts', 'schlüssel 🔑');
    expect(umlauts.headers['x-signature']).toBe(hexSha1('schlüssel 🔑', umlauts.body));
    expect(umlauts.headers['webhook-signature']).toBe(standardSignature('schlüssel 🔑', umlauts));
    const none = await signed('/secret/none');
    expect(none.headers).toMatchObject({
      'webhook-id': expect.any(String),
      'webhook-timestamp': expect.any(String),
    });
    expect(Object.keys(none.headers)).not.toEqual(expect.arrayContaining(['x-signature']));
    expect(Object.keys(none.headers)).not.toEqual(expect.arrayContaining(['webhook-signature']));
  },
);

test.concurrent(
  'the attempts of a delivery have one trace id and different span ids in traceparent',
  async () => {
    // Given an endpoint that is down once; then both tries name the same trace.
    const { sink } = stage;
    sink.on('/traced', [{ status: 500 }, {}]);
    const { send } = await stage.connect({ webhooks: [{ url: sink.url('/traced') }] });
    await send();
    const parents = (await sink.waitFor(2, { path: '/traced' })).map(({ headers }) =>
      headers.traceparent!.split('-'),
    );
    expect(parents[0]![1]).toBe(parents[1]![1]);
    expect(parents[0]![2]).not.toBe(parents[1]![2]);
  },
);

test.concurrent(
  "an endpoint that answers too late gets a retry, and the attempt names the timeout's phase",
  async () => {
    const { sink, topics } = stage;
    sink.on('/silent', [{ misbehave: 'hang' }, {}]);
    const { send } = await stage.connect({ webhooks: [{ url: sink.url('/silent') }] });
    const { messageId } = await send();
    await sink.waitFor(2, { path: '/silent' });
    await topics.event(messageId, 'attempt', ({ n }) => n === 2);
    const [first, second] = topics.attemptsOf(messageId);
    expect(first).toMatchObject({ n: 1, outcome: 'retry' });
    expect(first!.urls).toEqual([
      expect.objectContaining({
        outcome: 'retry',
        error: expect.objectContaining({ code: 'timeout', phase: 'headers' }),
      }),
    ]);
    expect(first!.urls[0]!.status).toBeUndefined();
    expect(second).toMatchObject({ n: 2, outcome: 'delivered' });
  },
);

test.concurrent('a 200 whose body never ends is delivered, and said to be odd', async () => {
  const { sink, topics } = stage;
  sink.on('/drip', { misbehave: 'drip' });
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/drip') }] });
  const { messageId } = await send();
  const first = await topics.event(messageId, 'attempt', ({ n }) => n === 1);
  expect(first).toMatchObject({
    outcome: 'delivered',
    urls: [{ status: 200, oddities: ['body_cut'] }],
  });
});

test.concurrent(
  'with two URLs the first 2xx settles a delivery immediately, though the other URL hangs',
  async () => {
    // Each message is settled before the timeout of the hanging URL. The timeout is added late, and
    // that URL sees each message once.
    const { sink, topics } = stage;
    sink.on('/pair/dead', { misbehave: 'hang' });
    const { send, destination } = await stage.connect({
      webhooks: [{ url: sink.url('/pair/dead') }, { url: sink.url('/pair/well') }],
      // Longer than both messages need on a busy machine.
      retry: { timeout: '15s' },
    });
    const [first, second] = [await send(), await send()];
    await sink.waitFor(2, { path: '/pair/well' });
    // Both have arrived while the first request to the hanging URL is still open.
    expect(
      topics.eventsOf(first.messageId).some((event) => event.kind === 'attempt' && event.late),
    ).toBe(false);

    for (const { messageId } of [first, second]) {
      const late = await topics.event(messageId, 'attempt', (event) => event.late === true);
      const events = topics.eventsOf(messageId);
      expect(events).toHaveLength(2);
      expect(events[0]).toMatchObject({ kind: 'attempt', n: 1, outcome: 'delivered' });
      expect(topics.attemptsOf(messageId)[0]!.urls).toMatchObject([
        { url: destination.webhooks[1]!.id, outcome: 'delivered', status: 200 },
      ]);
      expect(late).toMatchObject({
        n: 1,
        urls: [{ url: destination.webhooks[0]!.id, error: { code: 'timeout' } }],
      });
      expect(Date.parse(events[0]!.at)).toBeLessThan(Date.parse(late.at));
    }
    expect(sink.deliveries('/pair/dead')).toMatchObject({ distinct: 2, repeats: 0 });
    expect(sink.deliveries('/pair/well')).toMatchObject({ distinct: 2, repeats: 0 });
  },
);

test.concurrent(
  'with two URLs a 404 is final for its URL, and only the URL with a 503 gets retries',
  async () => {
    const { sink, topics } = stage;
    sink
      .on('/mixed/gone', { status: 404 })
      .on('/mixed/down', [{ status: 503 }, { status: 503 }, {}]);
    const webhooks = [{ url: sink.url('/mixed/gone') }, { url: sink.url('/mixed/down') }];
    const { send } = await stage.connect({ webhooks });
    const { messageId } = await send();
    await topics.event(messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
    expect(sink.received('/mixed/gone')).toHaveLength(1);
    expect(sink.received('/mixed/down')).toHaveLength(3);
    const attempts = topics.attemptsOf(messageId);
    expect(attempts.map(({ urls }) => urls.length)).toEqual([2, 1, 1]);
    expect(attempts[0]).toMatchObject({ outcome: 'retry' });
  },
);

test.concurrent(
  'a delivery that every URL rejects becomes a dead letter after one attempt, with the exact body',
  async () => {
    const { sink, topics } = stage;
    sink.on('/no/1', { status: 404 }).on('/no/2', { status: 422 });
    const { send } = await stage.connect({
      webhooks: [{ url: sink.url('/no/1') }, { url: sink.url('/no/2') }],
    });
    const { messageId } = await send();
    const { delivery, body } = await topics.dead(messageId);
    expect(delivery).toMatchObject({ reason: 'rejected', attempt: 1 });
    expect(delivery.excludedUrls).toHaveLength(2);
    expect(body.equals(sink.received('/no/1')[0]!.body)).toBe(true);
    expect(sink.received('/no/1')).toHaveLength(1);
    expect(sink.received('/no/2')).toHaveLength(1);
    const dead = await topics.event(messageId, 'dead');
    expect(dead).toMatchObject({ reason: 'rejected', n: 1, delivery: delivery.id });
    expect(topics.attemptsOf(messageId)).toEqual([
      expect.objectContaining({ n: 1, outcome: 'rejected' }),
    ]);
  },
);

test.concurrent('a redirect is not followed and counts as rejected', async () => {
  const { sink, topics } = stage;
  sink.on('/moved', { status: 302, headers: { location: sink.url('/moved-to') } });
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/moved') }] });
  const { messageId } = await send();
  expect((await topics.dead(messageId)).delivery.reason).toBe('rejected');
  await topics.event(messageId, 'dead');
  expect(topics.attemptsOf(messageId)[0]).toMatchObject({
    urls: [{ status: 302, outcome: 'rejected' }],
  });
  expect(sink.received('/moved-to')).toEqual([]);
});

test.concurrent(
  'a response that echoes secrets of its request is stored with *** in their place',
  async () => {
    // The receiver answers with the path, the query and a static header of the request.
    const { sink, topics } = stage;
    const path = '/echo?token=t0ken-of-the-url';
    const location = sink.url(`${path}&again=1`);
    sink.on('/echo', {
      status: 302,
      headers: { location, 'x-seen': 'Bearer h3ader-secret' },
      body: `${path} h3ader-secret`,
    });
    const headers = { Authorization: 'Bearer h3ader-secret' };
    const { send } = await stage.connect({ webhooks: [{ url: sink.url(path), headers }] });
    const { messageId } = await send();
    await topics.event(messageId, 'dead');
    const response = topics.attemptsOf(messageId)[0]!.urls[0]!.response!;
    expect(response).toMatchObject({ body: '*** ***', headers: { 'x-seen': '***' } });
    expect(response.headers.location).toBe(`${new URL(location).origin}/***`);
  },
);

test.concurrent.each([408, 423, 425, 429, 500, 502, 504])('a %d gets a retry', async (status) => {
  const { sink, topics } = stage;
  const path = `/again/${status}`;
  sink.on(path, [{ status }, {}]);
  const { send } = await stage.connect({ webhooks: [{ url: sink.url(path) }] });
  const { messageId } = await send();
  await topics.event(messageId, 'attempt', ({ n, outcome }) => n === 2 && outcome === 'delivered');
});

test.concurrent(
  'a Retry-After beyond the longest tier is respected, and its hops spend no attempt',
  async () => {
    // The 503 asks for 2 s, and the longest tier has 600 ms.
    const { sink, topics } = stage;
    sink.on('/later', [{ status: 503, headers: { 'retry-after': '2' } }, {}]);
    const { send } = await stage.connect({ webhooks: [{ url: sink.url('/later') }] });
    const { messageId } = await send();
    const [first, second] = await sink.waitFor(2, { path: '/later' });
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(2_000);
    const last = await topics.event(messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
    expect(last.n).toBe(2);
    expect(last.hop).toBeGreaterThanOrEqual(3);
    expect(topics.attemptsOf(messageId).map(({ n, reason }) => [n, reason])).toEqual([
      [1, 'retry_after'],
      [2, undefined],
    ]);
  },
);

// What receivers say of later requests.

const post = (path: string, body: object) => stage.system.control('POST', path, body);
const webhookOf = async (
  { destination }: Connection,
  fits: (webhook: Json) => void,
): Promise<Json> =>
  (await stage.ask(`/destinations/${destination.id}`, ({ webhooks }) => fits(webhooks[0])))
    .webhooks[0];
/** Sends a call, and resolves with its delivery once that has ended. */
const sendAndWait = async (connection: Connection, status: string): Promise<Json> => {
  const { messageId } = await connection.send(aTrack());
  const { data } = await stage.ask(`/deliveries?message=${messageId}`, ({ data: found }) =>
    expect(found[0]?.status).toBe(status),
  );
  return data[0];
};

test.concurrent(
  'a URL that answers 410 gets nothing more until somebody switches it on',
  async () => {
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
    await stage.ask(`/notices?destination=${id}&kind=webhook_disabled`, ({ data }) =>
      expect(data).toMatchObject([{ kind: 'webhook_disabled', webhook, endedAt: null }]),
    );

    sink.on('/gone', { status: 200 });
    const enabled = await post(`/destinations/${id}/enable-webhook`, { webhook });
    expect(enabled).toMatchObject({
      status: 200,
      body: { lostSince: expect.any(String), count: 4 },
    });
    await stage.settled();
    const { body: replay } = await post('/replays', {
      destination: id,
      from: enabled.body.lostSince,
      status: 'dead',
    });
    await stage.ask(`/replays/${replay.id}`, ({ status, delivered }) =>
      expect([status, delivered]).toEqual(['done', 4]),
    );
    await sendAndWait(connection, 'delivered');
    expect(sink.received('/gone')).toHaveLength(6);
    await stage.ask(`/notices?destination=${id}&kind=webhook_disabled`, ({ data }) =>
      expect(data).toMatchObject([{ kind: 'webhook_disabled', endedAt: expect.any(String) }]),
    );
  },
);

test.concurrent(
  'a URL that answers 410 leaves the others alone, and is on with another address',
  async () => {
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
      webhooks: [
        { id: webhook.id, url: sink.url('/another-address') },
        { url: sink.url('/other') },
      ],
    });
    sink.on('/another-address', { status: 200 });
    await stage.settled();
    await sendAndWait(connection, 'delivered');
    await sink.waitFor(1, { path: '/another-address' });
  },
);

test.concurrent('a URL that answers a test with 410 goes on', async () => {
  const { sink } = stage;
  sink.on('/tested', { status: 410 });
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/tested') }] });
  const tested = await post(`/destinations/${connection.destination.id}/test`, {});
  expect(tested.body).toMatchObject({ status: 'dead', attempt: { outcome: 'rejected' } });
  sink.on('/tested', { status: 200 });
  await sendAndWait(connection, 'delivered');
});

test.concurrent(
  'a receiver that asks for it gets a message never again, or nothing more',
  async () => {
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
  },
);

test.concurrent(
  'a delivery that waits for a Retry-After names no time of its next attempt',
  async () => {
    const { sink } = stage;
    sink.on('/in-a-day', { status: 503, headers: { 'retry-after': '86400' } });
    const connection = await stage.connect({ webhooks: [{ url: sink.url('/in-a-day') }] });
    const { id } = connection.destination;
    await connection.send();
    await connection.send();
    await stage.ask(`/deliveries?destination=${id}`, ({ data }) => {
      expect(data).toMatchObject([
        { reason: 'retry_after', nextAttemptAt: null },
        { reason: 'retry_after', nextAttemptAt: null },
      ]);
    });
  },
);

// After all others, whose connections it would count.
test('a response body is stored up to 16 KiB and marked as truncated beyond', async () => {
  const { sink, topics } = stage;
  const limit = 16 * 1024;
  sink.on('/answer/full', {
    status: 404,
    body: 'x'.repeat(limit),
    headers: { 'x-kind': 'full', 'set-cookie': 'a=b' },
  });
  sink.on('/answer/over', { status: 404, body: 'x'.repeat(limit + 1) });
  sink.on('/answer/endless', { misbehave: 'endless' });
  const kept = async (path: string) => {
    const { send } = await stage.connect({ webhooks: [{ url: sink.url(path) }] });
    const { messageId } = await send();
    return (await topics.event(messageId, 'attempt')).urls[0]!;
  };
  const full = await kept('/answer/full');
  expect(full.response).toMatchObject({ truncated: false, headers: { 'x-kind': 'full' } });
  expect(full.response!.headers).not.toHaveProperty('set-cookie');
  expect(full.response!.body).toBe('x'.repeat(limit));
  const over = await kept('/answer/over');
  expect(over.response).toMatchObject({ truncated: true });
  expect(over.response!.body).toHaveLength(limit);
  const endless = await kept('/answer/endless');
  expect(endless).toMatchObject({
    outcome: 'delivered',
    status: 200,
    response: { truncated: true },
  });
  // Delivery closes the connection in place of reading the rest.
  await eventually(() => expect(sink.connections).toBeLessThan(20));
});
