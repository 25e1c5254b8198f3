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
  test.each(['/v1/batch', '/v1/import', '/v1/b', '/v1/import/', '//v1/batch', '/v1/batch?x=1'])(
    'POST %s takes a batch',
    async (path) => {
      const answer = await ingest.post(path, { batch: [track, { ...track, messageId: 'm2' }] });
      expect(answer).toMatchObject({ status: 200, body: { success: true } });
      expect(messages().map((m) => m.messageId)).toEqual(['m1', 'm2']);
      expect(ingest.producer.appends).toHaveLength(1);
    },
  );

  test.each([
    ['identify', 'i'],
    ['track', 't'],
    ['page', 'p'],
    ['screen', 's'],
    ['group', 'g'],
    ['alias', 'a'],
  ])('POST /v1/%s and /v1/%s take one call of the type', async (type, letter) => {
    const call = { userId: 'u', event: 'e', groupId: 'g', previousId: 'p' };
    for (const path of [`/v1/${type}`, `/v1/${letter}`, `/v1/${letter}/`]) await ingest.post(path, call);
    expect(messages().map((m) => m.type)).toEqual([type, type, type]);
  });

  test('POST /v1/m is answered and discarded, without a key', async () => {
    const answer = await request(ingest.url).post('/v1/m').send('{"series":[{}]}');
    expect([answer.status, answer.text]).toEqual([200, '{"success":true}']);
    expect(ingest.producer.appends).toEqual([]);
  });

  test.each([
    ['get', '/'],
    ['post', '/v1'],
    ['post', '/v1/delete'],
    ['post', '/v2/batch'],
    ['get', '/v1/constructor'],
  ] as const)('%s %s is not found', async (method, path) => {
    const answer = await request(ingest.url)[method](path);
    expect([answer.status, answer.body]).toMatchObject([404, { success: false, code: 'not_found' }]);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  test.each([
    ['get', '/v1/batch', 'POST, OPTIONS'],
    ['put', '/v1/t', 'POST, OPTIONS'],
    ['delete', '/v1/m', 'POST, OPTIONS'],
    ['post', '/v1/pixel/track', 'GET, HEAD, OPTIONS'],
    ['post', '/v1/projects/key-1/settings', 'GET, HEAD, OPTIONS'],
  ] as const)('%s %s is not allowed', async (method, path, allow) => {
    const answer = await request(ingest.url)[method](path);
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
    expect(answer.body).toMatchObject({ success: false, code: 'method_not_allowed' });
  });

  test('a path that cannot be decoded gets 400', async () => {
    const answer = await request(ingest.url).get('/v1/projects/%zz/settings');
    expect([answer.status, answer.body]).toMatchObject([400, { success: false, code: 'invalid_request' }]);
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
  ['/', ''],
  ['', ''],
])('metrics name the route of %j as %j', (url, route) => expect(routeOf(url)).toBe(route));

describe('the response', () => {
  test('the response of success is exactly {"success":true}, as JSON', async () => {
    const answer = await request(ingest.url).post('/v1/t').set(basic('key-1')).send(JSON.stringify(track));
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
      expect(await ingest.post('/v1/batch', body)).toMatchObject({ status: 200, body: { success: true } });
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
    expect(answer).toMatchObject({ status: 400, body: { success: false, code, message: expect.any(String) } });
  });
});

describe('a record on messages', () => {
  test('a record on messages has a key, format, source, message, time, its own trace and the name of a track call', async () => {
    const theirs = '00-11111111111111111111111111111111-2222222222222222-00';
    const before = Date.now();
    await ingest.post('/v1/batch', { batch: [track, { type: 'page', anonymousId: 'a' }] }, { traceparent: theirs });
    const [first, second] = ingest.producer.appends[0]!;
    expect(first).toMatchObject({ topic: 'messages', key: 'src_1:u' });
    expect(first!.headers).toEqual({
      format: FORMAT_HEADER,
      body: '96,track,userId,',
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
    expect(JSON.parse(String(second!.value))).toMatchObject({ messageId: second!.headers!.message });
    const traces = ingest.producer.appends[0]!.map(({ headers }) => headers!.traceparent!.slice(3, 35));
    expect(new Set([...traces, theirs.slice(3, 35)]).size).toBe(3);
  });
});

describe('browsers', () => {
  test('ingest answers a preflight on any path', async () => {
    for (const path of ['/v1/t', '/v1/batch/', '/v1/projects/x/settings', '/elsewhere']) {
      const answer = await request(ingest.url)
        .options(path)
        .set({ origin: 'https://shop.example', 'access-control-request-headers': 'Authorization, X-Retry-Count' });
      expect(answer.status).toBe(204);
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': 'https://shop.example',
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': expect.stringContaining('POST'),
        'access-control-allow-headers': 'authorization, content-type, content-encoding, x-retry-count',
        'access-control-max-age': '86400',
        vary: 'Origin',
      });
    }
  });

  test.each([
    [200, JSON.stringify(track), 'key-1'],
    [400, '{', 'key-1'],
    [401, JSON.stringify(track), 'nobody'],
  ])('a page of another origin can read a response of %i', async (status, body, key) => {
    const answer = await ingest.post('/v1/t', body, { origin: 'https://shop.example', ...basic(key) });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(answer.headers.get('access-control-expose-headers')).toBe('Retry-After');
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-8', 'x'])(
    'a body is read as JSON although its Content-Type is %s',
    async (type) => {
      const answer = await ingest.post('/v1/t', track, { 'content-type': type });
      expect(answer).toMatchObject({ status: 200 });
      expect(messages()).toHaveLength(1);
    },
  );

  test('the settings of analytics.js name this host as the API host', async () => {
    const answer = await request(ingest.url).get('/v1/projects/key-1/settings');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      integrations: { 'Segment.io': { apiKey: 'key-1', apiHost: `127.0.0.1:${ingest.port}/v1`, protocol: 'http' } },
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
    expect(messages()).toEqual([expect.objectContaining({ type: 'track', event: 'Seen', properties: { a: 'ü?>' } })]);
    expect(messages()[0]).not.toHaveProperty('writeKey');
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
