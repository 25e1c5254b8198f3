import { randomBytes } from 'node:crypto';
import { common, openStorySystem, type StorySystem } from '../support/story-system';
import { eventually } from '../support/eventually';
import { hexSha1, isSignedBy, standardSignature } from '../support/verify-signature';

/** What becomes of a delivery by what its URLs answer: tried again, settled, or given up. */

const SECRET = 'a secret of the tests';
let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: '300ms,600ms', WAYPOST_TIMEOUT: '1s' } });
});
afterAll(() => stage.close());

const firstOf = <T>(list: readonly T[]): T => list[0]!;

test('503 twice, then 200: the same delivery each time, signed anew each time', async () => {
  // Given an endpoint that is down for two tries; then the third is the same request but for its time and signature.
  const { sink, topics } = stage;
  sink.on('/flaky', [{ status: 503 }, { status: 503 }, {}]);
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/flaky') }], sharedSecret: SECRET });
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
  expect(attempts.map(({ delivery }) => delivery)).toEqual(requests.map(({ headers }) => headers['webhook-id']));
  expect(attempts[0]).toMatchObject({ reason: 'backoff', nextAttemptAt: expect.any(String) });
  // A wait has at least the length of its tier.
  expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(300);
  expect(requests[2]!.at - requests[1]!.at).toBeGreaterThanOrEqual(600);
});

test('a secret is base64 behind whsec_, and else its UTF-8 bytes; without one nothing is signed', async () => {
  // Given a destination for each kind of secret; then each request carries what its receiver expects.
  const { sink } = stage;
  const signed = async (path: string, sharedSecret?: string) => {
    const { send } = await stage.connect({
      webhooks: [{ url: sink.url(path) }],
      ...(sharedSecret === undefined ? {} : { sharedSecret }),
    });
    await send();
    return firstOf(await sink.waitFor(1, { path }));
  };
  const standard = `whsec_${randomBytes(24).toString('base64')}`;
  expect(isSignedBy(standard, await signed('/secret/standard', standard))).toBe(true);
  // The library takes the letters of a raw secret as bytes; what UTF-8 makes of them is checked by the other two ways.
  const umlauts = await signed('/secret/umlauts', 'schlüssel 🔑');
  expect(umlauts.headers['x-signature']).toBe(hexSha1('schlüssel 🔑', umlauts.body));
  expect(umlauts.headers['webhook-signature']).toBe(standardSignature('schlüssel 🔑', umlauts));
  const none = await signed('/secret/none');
  expect(none.headers).toMatchObject({ 'webhook-id': expect.any(String), 'webhook-timestamp': expect.any(String) });
  expect(Object.keys(none.headers)).not.toEqual(expect.arrayContaining(['x-signature']));
  expect(Object.keys(none.headers)).not.toEqual(expect.arrayContaining(['webhook-signature']));
});

test('a traceparent goes with each try: one trace, a span of its own for each', async () => {
  // Given an endpoint that is down once; then both tries name the same trace.
  const { sink } = stage;
  sink.on('/traced', [{ status: 500 }, {}]);
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/traced') }] });
  await send();
  const parents = (await sink.waitFor(2, { path: '/traced' })).map(({ headers }) => headers.traceparent!.split('-'));
  expect(parents[0]![1]).toBe(parents[1]![1]);
  expect(parents[0]![2]).not.toBe(parents[1]![2]);
});

test('no answer in time: a timeout that names its phase, and another try', async () => {
  // Given an endpoint that takes the request and says nothing, once; then it is logged as a timeout and tried again.
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
});

test('a body that drips is no complete answer either', async () => {
  // Given an endpoint whose 200 never ends; then it is a timeout in phase body, and no delivery.
  const { sink, topics } = stage;
  sink.on('/drip', [{ misbehave: 'drip' }, {}]);
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/drip') }] });
  const { messageId } = await send();
  const first = await topics.event(messageId, 'attempt', ({ n }) => n === 1);
  expect(first).toMatchObject({ outcome: 'retry', urls: [{ error: { code: 'timeout', phase: 'body' } }] });
  await topics.event(messageId, 'attempt', ({ n, outcome }) => n === 2 && outcome === 'delivered');
});

test('two URLs, one of them dead: the first 2xx settles it at once, and nothing waits for the other', async () => {
  // Given one URL that answers and one that hangs; then each message is settled before the hanging URL's timeout, that
  // timeout is added late, and the hanging URL sees each message once.
  const { sink, topics } = stage;
  sink.on('/pair/dead', { misbehave: 'hang' });
  const { send, destination } = await stage.connect({
    webhooks: [{ url: sink.url('/pair/dead') }, { url: sink.url('/pair/well') }],
  });
  const [first, second] = [await send(), await send()];
  await sink.waitFor(2, { path: '/pair/well' });
  // Both have arrived while the first is still open at the dead URL.
  expect(topics.eventsOf(first.messageId).some((event) => event.kind === 'attempt' && event.late)).toBe(false);

  for (const { messageId } of [first, second]) {
    const late = await topics.event(messageId, 'attempt', (event) => event.late === true);
    const events = topics.eventsOf(messageId);
    expect(events).toHaveLength(2);
    expect(events[0]).toMatchObject({ kind: 'attempt', n: 1, outcome: 'delivered' });
    expect(topics.attemptsOf(messageId)[0]!.urls).toMatchObject([
      { url: destination.webhooks[1]!.id, outcome: 'delivered', status: 200 },
    ]);
    expect(late).toMatchObject({ n: 1, urls: [{ url: destination.webhooks[0]!.id, error: { code: 'timeout' } }] });
    expect(Date.parse(events[0]!.at)).toBeLessThan(Date.parse(late.at));
  }
  expect(sink.deliveries('/pair/dead')).toMatchObject({ distinct: 2, repeats: 0 });
  expect(sink.deliveries('/pair/well')).toMatchObject({ distinct: 2, repeats: 0 });
});

test('two URLs, one rejects and one is down: only the second is tried again', async () => {
  // Given a 404 beside a 503 that mends; then the 404 is final for its URL and the delivery goes on with the other.
  const { sink, topics } = stage;
  sink.on('/mixed/gone', { status: 404 }).on('/mixed/down', [{ status: 503 }, { status: 503 }, {}]);
  const webhooks = [{ url: sink.url('/mixed/gone') }, { url: sink.url('/mixed/down') }];
  const { send } = await stage.connect({ webhooks });
  const { messageId } = await send();
  await topics.event(messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
  expect(sink.received('/mixed/gone')).toHaveLength(1);
  expect(sink.received('/mixed/down')).toHaveLength(3);
  const attempts = topics.attemptsOf(messageId);
  expect(attempts.map(({ urls }) => urls.length)).toEqual([2, 1, 1]);
  expect(attempts[0]).toMatchObject({ outcome: 'retry' });
});

test('all URLs reject: a dead letter at once, with the body as it was sent', async () => {
  // Given two URLs that answer 404 and 410; then there is one attempt, and the exact body waits in webhooks.dead.
  const { sink, topics } = stage;
  sink.on('/no/1', { status: 404 }).on('/no/2', { status: 410 });
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/no/1') }, { url: sink.url('/no/2') }] });
  const { messageId } = await send();
  const { delivery, body } = await topics.dead(messageId);
  expect(delivery).toMatchObject({ reason: 'rejected', attempt: 1 });
  expect(delivery.closed).toHaveLength(2);
  expect(body.equals(sink.received('/no/1')[0]!.body)).toBe(true);
  expect(sink.received('/no/1')).toHaveLength(1);
  expect(sink.received('/no/2')).toHaveLength(1);
  const dead = await topics.event(messageId, 'dead');
  expect(dead).toMatchObject({ reason: 'rejected', n: 1, delivery: delivery.id });
  expect(topics.attemptsOf(messageId)).toEqual([expect.objectContaining({ n: 1, outcome: 'rejected' })]);
});

test('a redirect is not followed', async () => {
  // Given a 302 to a path that would take it; then the answer counts as a refusal.
  const { sink, topics } = stage;
  sink.on('/moved', { status: 302, headers: { location: sink.url('/moved-to') } });
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/moved') }] });
  const { messageId } = await send();
  expect((await topics.dead(messageId)).delivery.reason).toBe('rejected');
  await topics.event(messageId, 'dead');
  expect(topics.attemptsOf(messageId)[0]).toMatchObject({ urls: [{ status: 302, outcome: 'rejected' }] });
  expect(sink.received('/moved-to')).toEqual([]);
});

test('an answer that echoes the secrets of its request is kept without them', async () => {
  // Given a receiver that answers with the path, the query and a static header of the request; then topic and history show ***.
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
});

test.each([408, 423, 425, 429, 500, 502, 504])('%d is worth another try', async (status) => {
  // Given an endpoint that answers so once; then it gets the delivery again.
  const { sink, topics } = stage;
  const path = `/again/${status}`;
  sink.on(path, [{ status }, {}]);
  const { send } = await stage.connect({ webhooks: [{ url: sink.url(path) }] });
  const { messageId } = await send();
  await topics.event(messageId, 'attempt', ({ n, outcome }) => n === 2 && outcome === 'delivered');
});

test('Retry-After beyond the longest tier is kept, and its hops spend no attempt', async () => {
  // Given a 503 that asks for 2 s where the longest tier has 600 ms; then nothing comes earlier, and it is attempt 2.
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
});

test('an answer is kept up to 16 KiB, and said to be cut beyond', async () => {
  // Given answers of 16 KiB, of one byte more, and without end; then the first is whole and the others are cut.
  const { sink, topics } = stage;
  const limit = 16 * 1024;
  sink.on('/answer/full', { status: 404, body: 'x'.repeat(limit), headers: { 'x-kind': 'full', 'set-cookie': 'a=b' } });
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
  expect(endless).toMatchObject({ outcome: 'delivered', status: 200, response: { truncated: true } });
  // The rest is dropped with its connection, not read.
  await eventually(() => expect(sink.connections).toBeLessThan(20));
});
