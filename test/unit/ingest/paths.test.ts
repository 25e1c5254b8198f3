import request from 'supertest';
import { routeOf } from '../../../services/ingest/routes';
import { startTestIngest, basic, type TestIngest } from './start';
import { FORMAT_HEADER } from '../../../shared/model/record-format';

let ingest: TestIngest;
beforeAll(async () => (ingest = await startTestIngest()));
beforeEach(() => (ingest.producer.appends.length = 0));
afterAll(() => ingest.stop());

const track = { type: 'track', userId: 'u', event: 'e', messageId: 'm1' };
const messages = () => ingest.producer.values('messages');

describe('paths', () => {
  test.each([
    '/v1/batch',
    '/v1/import',
    '/v1/b',
    '/v1/import/',
    '//v1/batch',
    '/v1/batch?x=1',
    '/beacon/v1/batch',
    '/batch',
    '/b/',
  ])('POST %s takes a batch', async (path) => {
    const answer = await ingest.post(path, { batch: [track, { ...track, messageId: 'm2' }] });
    expect(answer).toMatchObject({ status: 200, body: { success: true } });
    expect(messages().map((m) => m.messageId)).toEqual(['m1', 'm2']);
    expect(ingest.producer.appends).toHaveLength(1);
  });

  test.each([
    ['identify', 'i'],
    ['track', 't'],
    ['page', 'p'],
    ['screen', 's'],
    ['group', 'g'],
    ['alias', 'a'],
  ])('POST /v1/%s and /v1/%s take one call of the type', async (type, letter) => {
    const call = { userId: 'u', event: 'e', groupId: 'g', previousId: 'p' };
    for (const path of [`/v1/${type}`, `/v1/${letter}`, `/v1/${letter}/`]) {
      await ingest.post(path, call);
    }
    expect(messages().map((m) => m.type)).toEqual([type, type, type]);
  });

  test('POST /v1/m is answered and discarded, without a key', async () => {
    const answer = await request(ingest.url).post('/v1/m').send('{"series":[{}]}');
    expect([answer.status, answer.text]).toEqual([200, '{"success":true}']);
    expect(ingest.producer.appends).toEqual([]);
  });

  test.each([
    ['get', '/healthz/deep'],
    ['post', '/pixel/v1/nonsense'],
    ['post', '/v1'],
    ['post', '/v1/delete'],
    ['post', '/v2/batch'],
    ['get', '/v1/constructor'],
  ] as const)('%s %s is not found', async (method, path) => {
    const answer = await request(ingest.url)[method](path);
    expect([answer.status, answer.body]).toMatchObject([
      404,
      { success: false, code: 'not_found' },
    ]);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  test.each([
    ['get', '/v1/batch', 'POST, OPTIONS'],
    ['put', '/v1/t', 'POST, OPTIONS'],
    ['delete', '/v1/m', 'POST, OPTIONS'],
    ['post', '/v1/pixel/track', 'GET, HEAD, OPTIONS'],
    ['put', '/pixel/v1/track', 'GET, HEAD, POST, OPTIONS'],
    ['post', '/', 'GET, HEAD, OPTIONS'],
    ['post', '/v1/projects/key-1/settings', 'GET, HEAD, OPTIONS'],
  ] as const)('%s %s is not allowed', async (method, path, allow) => {
    const answer = await request(ingest.url)[method](path);
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
    expect(answer.body).toMatchObject({ success: false, code: 'method_not_allowed' });
  });

  test('a path that cannot be decoded gets 400', async () => {
    const answer = await request(ingest.url).get('/v1/projects/%zz/settings');
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { success: false, code: 'invalid_request' },
    ]);
  });
});

test.each([
  ['/v1/batch', '/v1/batch'],
  ['/v1/b', '/v1/batch'],
  ['/v1/import', '/v1/batch'],
  ['/v1/track', '/v1/track'],
  ['/v1/t/', '/v1/track'],
  ['//v1/identify?x=1', '/v1/identify'],
  ['/V1/Screen', '/v1/screen'],
  ['/v1/m', '/v1/m'],
  ['/v1/pixel/track?data=secret', '/v1/pixel/:type'],
  ['/v1/projects/a-write-key/settings', '/v1/projects/:writeKey/settings'],
  ['/v1/projects/a-write-key', ''],
  ['/beacon/v1/batch?writeKey=secret', '/v1/batch'],
  ['/pixel/v1/track?writeKey=secret', '/pixel/v1/:type'],
  ['/healthz', '/healthz'],
  ['/', '/healthz'],
  ['/?probe=1', '/healthz'],
  ['//', '/healthz'],
  ['', ''],
])('metrics name the route of %j as %j', (url, route) => expect(routeOf(url)).toBe(route));

describe('the response', () => {
  test('the response of success is exactly {"success":true}, as JSON', async () => {
    const answer = await request(ingest.url)
      .post('/v1/t')
      .set(basic('key-1'))
      .send(JSON.stringify(track));
    expect(answer.text).toBe('{"success":true}');
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.headers['content-length']).toBe('16');
  });

  test('the response names the rejected calls, which go to messages.rejected', async () => {
    const bad = { type: 'track', event: 'e', writeKey: 'key-1' };
    const answer = await ingest.post('/v1/batch', { batch: [track, bad, 'x'] });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        success: true,
        rejected: [
          { index: 1, code: 'no_user_anon_id', message: expect.any(String) },
          { index: 2, code: 'invalid_call', message: expect.any(String) },
        ],
      },
    });
    const [, [first, second] = []] = ingest.producer.appends;
    expect(first).toMatchObject({
      topic: 'messages.rejected',
      key: 'src_1',
      headers: { format: FORMAT_HEADER, source: 'src_1' },
    });
    expect(JSON.parse(String(first!.value))).toEqual({
      at: expect.stringMatching(/Z$/),
      source: 'src_1',
      code: 'no_user_anon_id',
      message: expect.any(String),
      call: { type: 'track', event: 'e' },
    });
    expect(JSON.parse(String(second!.value))).toMatchObject({ call: 'x' });
  });

  test.each(['{"batch":[]}', '{"batch":null}'])(
    'the response to %s is success, and no record is written',
    async (body) => {
      expect(await ingest.post('/v1/batch', body)).toMatchObject({
        status: 200,
        body: { success: true },
      });
      expect(ingest.producer.appends).toEqual([]);
    },
  );

  test.each([
    ['/v1/batch', '{"batch":', 'invalid_json'],
    ['/v1/batch', '', 'invalid_json'],
    ['/v1/batch', '[]', 'invalid_body'],
    ['/v1/batch', '{}', 'missing_batch'],
    ['/v1/t', '"x"', 'invalid_body'],
    ['/v1/b', `{"batch":[${'['.repeat(300)}${']'.repeat(300)}]}`, 'too_deep'],
  ])('POST %s with the body %s gets 400 %s', async (path, body, code) => {
    const answer = await ingest.post(path, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { success: false, code, message: expect.any(String) },
    });
  });
});

describe('a record on messages', () => {
  test('a messages record has key, format, source, message, time, trace and name', async () => {
    const theirs = '00-11111111111111111111111111111111-2222222222222222-00';
    const before = Date.now();
    await ingest.post(
      '/v1/batch',
      { batch: [track, { type: 'page', anonymousId: 'a' }] },
      { traceparent: theirs },
    );
    const [first, second] = ingest.producer.appends[0]!;
    expect(first).toMatchObject({ topic: 'messages', key: 'src_1:u' });
    expect(first!.headers).toEqual({
      format: FORMAT_HEADER,
      body: '96,track,userId,',
      config: '0',
      source: 'src_1',
      message: 'm1',
      'accepted-at': expect.stringMatching(/^\d{13}$/),
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      event: 'e',
    });
    expect(second!.headers).not.toHaveProperty('event');
    expect(Number(first!.headers!['accepted-at'])).toBeGreaterThanOrEqual(before);
    expect(second).toMatchObject({ key: 'src_1:a' });
    expect(second!.headers!.message).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(JSON.parse(String(second!.value))).toMatchObject({
      messageId: second!.headers!.message,
    });
    const traces = ingest.producer.appends[0]!.map(({ headers }) =>
      headers!.traceparent!.slice(3, 35),
    );
    expect(new Set([...traces, theirs.slice(3, 35)]).size).toBe(3);
  });

  test('a messages record has the position of config that ingest knew', async () => {
    const positions = [];
    for (const position of [41, 42]) {
      ingest.config.position = position;
      await ingest.post('/v1/track', track);
      positions.push(ingest.producer.appends.at(-1)?.[0]?.headers?.config);
    }
    expect(positions).toEqual(['41', '42']);
  });
});

describe('browsers', () => {
  test('ingest answers a preflight on any path', async () => {
    for (const path of ['/v1/t', '/v1/batch/', '/v1/projects/x/settings', '/elsewhere']) {
      const answer = await request(ingest.url).options(path).set({
        origin: 'https://shop.example',
        'access-control-request-headers': 'Authorization, X-Retry-Count',
      });
      expect(answer.status).toBe(204);
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': 'https://shop.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': expect.stringContaining('POST'),
        'access-control-allow-headers': 'Authorization, X-Retry-Count',
        'access-control-max-age': '86400',
        vary: 'Origin',
      });
    }
  });

  const USUAL = 'authorization, content-type, content-encoding, x-retry-count';
  test.each([
    ['of RudderStack', 'anonymousid,authorization', 'anonymousid, authorization'],
    [
      'of tracers',
      'traceparent, tracestate, baggage, sentry-trace, x-datadog-trace-id, x-b3-traceid',
      'traceparent, tracestate, baggage, sentry-trace, x-datadog-trace-id, x-b3-traceid',
    ],
    ['without a name', ' , ,', USUAL],
    ['that are no names, beside one', 'a b, x-good, <script>, ü, x:y', 'x-good'],
  ])('a preflight allows headers %s', async (_, asked, allowed) => {
    const answer = await request(ingest.url)
      .options('/v1/t')
      .set({ origin: 'https://shop.example', 'access-control-request-headers': asked });
    expect(answer.headers['access-control-allow-headers']).toBe(allowed);
  });

  test('a preflight that asks for nothing gets the usual headers', async () => {
    const answer = await request(ingest.url)
      .options('/v1/t')
      .set({ origin: 'https://shop.example' });
    expect(answer.headers['access-control-allow-headers']).toBe(USUAL);
  });

  test('a preflight repeats a bounded number of bytes, and no name in part', async () => {
    const name = `x-${'a'.repeat(98)}`;
    const answer = await request(ingest.url)
      .options('/v1/t')
      .set({ 'access-control-request-headers': Array.from({ length: 60 }, () => name).join() });
    const repeated = String(answer.headers['access-control-allow-headers']).split(', ');
    expect(new Set(repeated)).toEqual(new Set([name]));
    expect(repeated.length).toBeLessThan(60);
  });

  test('a page with 60 KB of cookies reaches ingest; with more it gets a response', async () => {
    const call = (bytes: number) =>
      ingest.post('/v1/t', track, {
        cookie: `a=${'x'.repeat(bytes)}`,
        origin: 'https://shop.example',
      });
    expect(await call(60_000)).toMatchObject({ status: 200 });
    const refused = await call(70_000);
    expect(refused).toMatchObject({ status: 431, body: { code: 'headers_too_large' } });
    expect(refused.headers.get('access-control-allow-origin')).toBe('*');
  });

  test.each([
    [200, JSON.stringify(track), 'key-1'],
    [400, '{', 'key-1'],
    [401, JSON.stringify(track), 'nobody'],
  ])('a page of another origin can read a response of %i', async (status, body, key) => {
    const answer = await ingest.post('/v1/t', body, {
      origin: 'https://shop.example',
      ...basic(key),
    });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(answer.headers.get('access-control-expose-headers')).toBe('Retry-After');
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-8',
    'x',
  ])('a body is read as JSON although its Content-Type is %s', async (type) => {
    const answer = await ingest.post('/v1/t', track, { 'content-type': type });
    expect(answer).toMatchObject({ status: 200 });
    expect(messages()).toHaveLength(1);
  });

  test('the settings of analytics.js name this host as the API host', async () => {
    const answer = await request(ingest.url).get('/v1/projects/key-1/settings');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      integrations: {
        'Segment.io': { apiKey: 'key-1', apiHost: `127.0.0.1:${ingest.port}/v1`, protocol: 'http' },
      },
    });
  });

  test.each(['nobody', 'key-off'])('ingest refuses the settings of the key %s', async (key) => {
    expect((await request(ingest.url).get(`/v1/projects/${key}/settings`)).status).toBe(401);
  });
});

describe('pixel', () => {
  const data = { userId: 'u', event: 'Seen', writeKey: 'key-1', properties: { a: 'ü?>' } };
  const json = JSON.stringify(data);
  test.each([
    ['JSON', encodeURIComponent(json)],
    ['base64', encodeURIComponent(Buffer.from(json).toString('base64'))],
    ['base64, not escaped', Buffer.from(json).toString('base64')],
    ['base64url', Buffer.from(json).toString('base64url')],
  ])('a pixel takes a call as %s', async (_, text) => {
    const answer = await request(ingest.url).get(`/v1/pixel/track?data=${text}`);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/gif']);
    expect((answer.body as Buffer).subarray(0, 6).toString()).toBe('GIF89a');
    expect(messages()).toEqual([
      expect.objectContaining({ type: 'track', event: 'Seen', properties: { a: 'ü?>' } }),
    ]);
    expect(messages()[0]).not.toHaveProperty('writeKey');
  });

  const fields =
    'writeKey=key-1&userId=u&event=Seen&properties.a=1&properties.b.c=2&__proto__.d=3&userId=v&event.x=4';
  const asFields = {
    type: 'track',
    userId: 'u',
    event: 'Seen',
    properties: { a: '1', b: { c: '2' } },
  };
  test.each([
    'userId=u&event=J%F6rg&writeKey=key-1',
    `data=${encodeURIComponent('{"userId":"u","event":"J~","writeKey":"key-1"}').replace('~', '%F6')}`,
  ])('a pixel of bytes that are not UTF-8 makes no call: %s', async (query) => {
    await request(ingest.url).get(`/pixel/v1/track?${query}`);
    expect(messages()).toEqual([]);
    expect(ingest.producer.values('messages.rejected')).toMatchObject([
      { code: 'invalid_encoding', call: expect.stringContaining('\\xF6') },
    ]);
  });

  test('a pixel keeps characters beyond ASCII, escaped or not', async () => {
    for (const name of ['J%C3%B6rg+%E2%82%AC', 'J%c3%b6rg%20%e2%82%ac']) {
      await request(ingest.url).get(`/pixel/v1/track?writeKey=key-1&userId=u&event=${name}`);
    }
    expect(messages().map(({ event }) => event)).toEqual(['Jörg €', 'Jörg €']);
  });

  test('a pixel of RudderStack takes a call field by field', async () => {
    const answer = await request(ingest.url).get(`/pixel/v1/track?${fields}`);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/gif']);
    expect(messages()).toEqual([expect.objectContaining(asFields)]);
    expect(JSON.stringify(messages())).not.toMatch(/key-1|writeKey/);
  });

  test('a pixel with the write key beside its data is accepted', async () => {
    const { writeKey, ...rest } = data;
    await request(ingest.url).get(
      `/v1/pixel/track?writeKey=${writeKey}&data=${encodeURIComponent(JSON.stringify(rest))}`,
    );
    expect(messages()).toEqual([expect.objectContaining({ event: 'Seen' })]);
  });

  test('a posted pixel takes its call from the body, or without one from the query', async () => {
    const posted = await request(ingest.url)
      .post('/pixel/v1/track?writeKey=key-1')
      .send(JSON.stringify(track));
    expect([posted.status, posted.text]).toEqual([200, '{"success":true}']);
    expect((await request(ingest.url).post(`/pixel/v1/t?${fields}`)).status).toBe(200);
    expect(messages()).toEqual([expect.objectContaining(track), expect.objectContaining(asFields)]);
    expect((await request(ingest.url).post('/pixel/v1/track?writeKey=nobody')).status).toBe(401);
  });

  test('a pixel with names of any depth is answered', async () => {
    const deep = Array.from({ length: 15_000 }, () => 'a').join('.');
    await request(ingest.url).get(`/pixel/v1/track?writeKey=key-1&userId=u&event=e&${deep}=1`);
    expect(messages()).toEqual([expect.objectContaining({ event: 'e', [deep]: '1' })]);
  });

  test.each([
    '/v1/pixel/track',
    '/v1/pixel/track?data=%%%',
    '/v1/pixel/track?data=eyJ9',
    '/v1/pixel/unknown?data=e30',
    `/v1/pixel/page?data=${encodeURIComponent('{"userId":"u","writeKey":"nobody"}')}`,
  ])('the response to %s is an image although no call is accepted', async (path) => {
    const answer = await request(ingest.url).get(path);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/gif']);
    expect(messages()).toEqual([]);
  });
});

describe('health checks of load balancers', () => {
  test.each(['/', '/healthz', '/healthz/', '/?from=balancer'])(
    'GET %s is 200 while ingest may get traffic',
    async (path) => {
      const answer = await request(ingest.url).get(path);
      expect([answer.status, answer.body]).toEqual([200, { status: 'ok' }]);
      expect((await request(ingest.url).head(path)).status).toBe(200);
    },
  );

  test('it is 503 while ingest may get none', async () => {
    let isReady = false;
    const other = await startTestIngest({ isReady: () => isReady });
    const statuses = async () =>
      Promise.all(
        ['/', '/healthz'].map(async (path) => (await request(other.url).get(path)).status),
      );
    expect(await statuses()).toEqual([503, 503]);
    isReady = true;
    expect(await statuses()).toEqual([200, 200]);
    await other.stop();
  });
});
