import { gzipSync } from 'node:zlib';
import { SERVICES } from '../../bin/service-list';
import { defined } from '../../shared/collections/defined';
import { DELIVERIES_HEADER } from '../../shared/model/batch';
import { namingBody } from '../../tools/harness/receiver';
import { eventually } from '../support/eventually';
import { someTracks } from '../support/factories';
import { raw, requestText } from '../support/raw-http';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { startSupervised } from '../support/supervised';

/**
 * Hostile input at every entry point: each request gets a clear error, no process crashes, and no
 * response or log line reveals a secret.
 */

const MB = 1024 * 1024;
/** Made before any connection: it takes seconds, in which a server may close an idle one. */
const GZIP_BOMB = gzipSync(Buffer.alloc(200 * MB));
const PLANTED = {
  secret: 'planted-shared-secret-7f3a',
  header: 'planted-header-value-91bc',
  query: 'planted-query-token-44de',
  adminToken: 'planted-admin-token-0123456789abcdef',
};
const STACK = /^\s+at .+[:(]/m;

interface Answered {
  status: number;
  type: string;
  text: string;
}

let stage: StorySystem;
let shop: Connection;
let pids: number[][];
/** all responses, checked at the end */
const answers: Answered[] = [];

beforeAll(async () => {
  stage = await openStorySystem({
    env: {
      WAYPOST_ADMIN_TOKEN: PLANTED.adminToken,
      WAYPOST_LOG_LEVEL: 'debug',
      WAYPOST_RETRY_DELAYS: '300ms',
    },
  });
  shop = await stage.connect({
    webhooks: [
      {
        url: stage.sink.url(`/shop?token=${PLANTED.query}`),
        headers: { 'X-Api-Key': PLANTED.header },
      },
    ],
    sharedSecret: PLANTED.secret,
  });
  pids = SERVICES.map((name) => stage.system.pids(name));
});
afterAll(() => stage.close());

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

async function answered(
  url: string,
  { method = 'POST', headers = {}, body }: Sent,
): Promise<Answered> {
  const response = await fetch(url, {
    method,
    headers,
    ...defined({ body }),
  });
  const answer = {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
  answers.push(answer);
  return answer;
}

const basic = (key: string) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
const nested = (depth: number) => `${'['.repeat(depth)}1${']'.repeat(depth)}`;

describe('ingest', () => {
  /** Sends a request and checks that the response is an error of ingest, in JSON. */
  async function refused(path: string, sent: Sent): Promise<{ status: number; code: string }> {
    const { status, type, text } = await answered(`${stage.system.ingestUrl}${path}`, {
      ...sent,
      headers: { authorization: basic(shop.source.writeKey), ...sent.headers },
    });
    expect(type).toMatch(/^application\/json/);
    const body = JSON.parse(text) as { success: boolean; code: string; message: string };
    expect(body).toEqual({
      success: false,
      code: expect.stringMatching(/^[a-z_]+$/),
      message: expect.any(String),
    });
    expect(body.message.length).toBeGreaterThan(10);
    return { status, code: body.code };
  }

  const gzip = { 'content-encoding': 'gzip' };
  const cases: Record<string, [() => Sent, number, string]> = {
    'a body of 10 MB': [() => ({ body: Buffer.alloc(10 * MB, ' ') }), 400, 'body_too_large'],
    'a gzip bomb': [() => ({ body: GZIP_BOMB, headers: gzip }), 400, 'body_too_large'],
    'bytes that are not UTF-8': [
      () => ({ body: Buffer.from('{"batch":[{"event":"\xff"}]}', 'latin1') }),
      400,
      'invalid_encoding',
    ],
    'deep nesting': [() => ({ body: `{"batch":[${nested(50_000)}]}` }), 400, 'too_deep'],
    'a key that is an attack': [
      () => ({ body: '{"batch":[]}', headers: { authorization: basic('__proto__') } }),
      401,
      'unknown_write_key',
    ],
  };
  test.each(Object.entries(cases))(
    'ingest refuses %s with the status and code of the mistake',
    async (_, [sent, status, code]) => {
      expect(await refused('/v1/batch', sent())).toEqual({ status, code });
    },
  );

  test('a call with __proto__ and half a surrogate arrives safely as valid JSON', async () => {
    const body =
      '{"type":"track","messageId":"odd","userId":"odd","event":"\\ud800 e","__proto__":{"polluted":1},' +
      '"properties":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}';
    const headers = { authorization: basic(shop.source.writeKey) };
    expect(await answered(`${stage.system.ingestUrl}/v1/track`, { body, headers })).toMatchObject({
      status: 200,
    });
    await stage.topics.event('odd', 'attempt');
    const request = stage.sink
      .received('/shop')
      .find((received) => received.body.includes('"odd"'))!;
    expect(new TextDecoder('utf-8', { fatal: true }).decode(request.body)).toContain('"odd"');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe('control', () => {
  const authorization = `Bearer ${PLANTED.adminToken}`;
  const json = { 'content-type': 'application/json' };

  /**
   * Sends a request and checks that the response is a problem. @returns its status, code, and the
   * fields that it names
   */
  async function problem(
    path: string,
    sent: Sent,
  ): Promise<{ status: number; code: string; fields: string[] }> {
    const { status, type, text } = await answered(`${stage.system.controlUrl}/api/v1${path}`, {
      ...sent,
      headers: { authorization, ...json, ...sent.headers },
    });
    expect(type).toMatch(/^application\/problem\+json/);
    const body = JSON.parse(text) as Record<'type' | 'title' | 'detail', string> & {
      status: number;
      errors?: object[];
    };
    expect(body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    const fields = (body.errors ?? []).map((error) =>
      'pointer' in error ? String(error.pointer) : '',
    );
    return {
      status,
      code: body.type.replace('urn:waypost:problem:', ''),
      fields: [...new Set(fields)].sort(),
    };
  }

  const bodies: Record<string, [() => Sent, number, string]> = {
    'broken JSON': [() => ({ body: '{"name":' }), 400, 'invalid_body'],
    'a body of 10 MB': [() => ({ body: Buffer.alloc(10 * MB, ' ') }), 413, 'too_large'],
    'a gzip bomb': [
      () => ({ body: GZIP_BOMB, headers: { 'content-encoding': 'gzip' } }),
      413,
      'too_large',
    ],
    'deep nesting': [() => ({ body: `{"name":${nested(5_000)}}` }), 400, 'invalid_body'],
    'a key named __proto__': [
      () => ({ body: '{"name":"x","__proto__":{"admin":true}}' }),
      400,
      'invalid_body',
    ],
    'a list': [() => ({ body: '[]' }), 422, 'invalid_fields'],
    'no token': [() => ({ body: '{}', headers: { authorization: '' } }), 401, 'unauthorized'],
    'a wrong token': [
      () => ({ body: '{}', headers: { authorization: 'Bearer wrong' } }),
      401,
      'unauthorized',
    ],
    'the token of another scheme': [
      () => ({ body: '{}', headers: { authorization: basic(PLANTED.adminToken) } }),
      401,
      'unauthorized',
    ],
  };
  test.each(Object.entries(bodies))(
    'control refuses %s with a problem that names the mistake',
    async (_, [sent, status, code]) => {
      expect(await problem('/sources', sent())).toMatchObject({ status, code });
    },
  );

  test('control accepts a name of invalid UTF-8 as text, or refuses it', async () => {
    const body = Buffer.from('{"name":"XX"}');
    body.set([0xff, 0xfe], 9);
    const answer = await answered(`${stage.system.controlUrl}/api/v1/sources`, {
      body,
      headers: { authorization, ...json },
    });
    expect([201, 400, 415, 422]).toContain(answer.status);
  });

  const url = 'https://shop.example/hook';
  const destination = (over: object) => ({
    name: 'D',
    type: 'webhooks',
    sources: [],
    webhooks: [{ url }],
    ...over,
  });
  const hook = (over: object) => destination({ webhooks: [{ url, ...over }] });
  test.each<[string, object, string[]]>([
    [
      'a URL that never ends',
      hook({ url: `https://shop.example/${'x'.repeat(3_000)}` }),
      ['#/webhooks/0/url'],
    ],
    [
      'a URL with a line break',
      hook({ url: 'https://shop.example/\r\nHost: other' }),
      ['#/webhooks/0/url'],
    ],
    [
      'a header value with a line break',
      hook({ headers: { 'X-A': 'a\r\nInjected: b' } }),
      ['#/webhooks/0/headers/X-A'],
    ],
    [
      'a header name with a line break',
      hook({ headers: { 'X\r\nA': 'a' } }),
      ['#/webhooks/0/headers/X%0D%0AA'],
    ],
    [
      'wrong types everywhere',
      {
        name: 7,
        type: 'email',
        sources: 'all',
        webhooks: [7],
        enabled: 'yes',
        sharedSecret: [],
        maxPerSecond: '9',
        types: ['x'],
      },
      [
        '#/enabled',
        '#/maxPerSecond',
        '#/name',
        '#/sharedSecret',
        '#/sources',
        '#/type',
        '#/types/0',
        '#/webhooks/0',
      ],
    ],
  ])(
    'control refuses a destination with %s and names every invalid field',
    async (_, body, fields) => {
      const answer = await problem('/destinations', { body: JSON.stringify(body) });
      expect(answer).toEqual({ status: 422, code: 'invalid_fields', fields });
    },
  );

  test('control answers unknown ids and paths with a problem', async () => {
    for (const path of [
      '/sources/__proto__',
      '/destinations/..%2F..%2Fetc',
      '/destinations/%00',
      '/nothing',
      '/sources/%E0%A4%A',
    ]) {
      expect(await problem(path, { method: 'GET' })).toMatchObject({ status: expect.any(Number) });
    }
    expect(await problem('/sources/src_nobody', { method: 'DELETE' })).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect(await problem('/sources', { method: 'PUT', body: '{}' })).toMatchObject({ status: 405 });
  });

  test.each([
    ['a header of 64 KB', [`X-Big: ${'x'.repeat(64 * 1024)}`], 431],
    ['a line break in a header', ['X-Split: a\nInjected: b\rc'], 400],
    ['a length and chunks', ['Content-Length: 2', 'Transfer-Encoding: chunked'], 400],
  ])('control refuses a raw request with %s', async (_, lines, status) => {
    const answer = await raw(
      stage.system.controlUrl,
      requestText(['POST /api/v1/sources HTTP/1.1', 'Host: x', ...lines]),
    );
    answers.push({
      status: answer.status,
      type: answer.headers['content-type'] ?? '',
      text: answer.body,
    });
    expect(answer.status).toBe(status);
  });

  test('no response or error shows the stored secret or header of a destination', async () => {
    const read = await answered(
      `${stage.system.controlUrl}/api/v1/destinations/${shop.destination.id}`,
      {
        method: 'GET',
        headers: { authorization },
      },
    );
    expect(JSON.parse(read.text)).toMatchObject({
      hasSharedSecret: true,
      webhooks: [{ headers: { 'X-Api-Key': { keep: true } } }],
    });
    // A stored value cannot move to another host.
    const moved = {
      webhooks: [{ url: 'https://thief.example/', headers: { 'X-Api-Key': { keep: true } } }],
    };
    const path = `/destinations/${shop.destination.id}`;
    expect((await problem(path, { method: 'PATCH', body: JSON.stringify(moved) })).status).toBe(
      422,
    );
    const again = {
      sharedSecret: PLANTED.secret,
      webhooks: [{ url: 'nonsense', headers: { 'X-Api-Key': PLANTED.header } }],
    };
    expect((await problem(path, { method: 'PATCH', body: JSON.stringify(again) })).status).toBe(
      422,
    );
  });
});

describe('the start', () => {
  test.each([
    ['an unknown setting', { WAYPOST_RETRY_DELAY: '5s' }, 'WAYPOST_RETRY_DELAYS?'],
    ['an invalid duration', { WAYPOST_TIMEOUT: '-5s' }, 'WAYPOST_TIMEOUT'],
    ['an invalid network', { WAYPOST_ALLOWED_NETWORKS: '10.0.0.0/99' }, 'WAYPOST_ALLOWED_NETWORKS'],
    ['a key that is too short', { WAYPOST_SECRET_KEY: 'cGxhbnRlZA==' }, 'WAYPOST_SECRET_KEY'],
  ])(
    'a start with %s exits with 1 and names the setting, without secrets and stack',
    async (_, env, named) => {
      const args = ['dist/bin/main.js', 'start'];
      const started = startSupervised(process.execPath, args, {
        ...env,
        WAYPOST_ADMIN_TOKEN: PLANTED.adminToken,
      });
      expect(await started.exited).toBe(1);
      expect(started.output()).toContain(named);
      expect(started.output()).not.toMatch(STACK);
      for (const secret of [PLANTED.adminToken, 'cGxhbnRlZA==']) {
        expect(started.output()).not.toContain(secret);
      }
    },
  );
});

test('the stored part of a response with large headers is bounded', async () => {
  const { sink, topics } = stage;
  sink.on('/nonsense', {
    status: 404,
    headers: { 'x-big': 'x'.repeat(12_000) },
    body: Buffer.from([0xff, 0xfe, 0]),
  });
  const { send } = await stage.connect({ webhooks: [{ url: sink.url('/nonsense') }] });
  const { messageId } = await send();
  const event = await topics.event(messageId, 'attempt');
  expect(JSON.stringify(event.urls[0]!.response!.headers).length).toBeLessThan(6_000);
});

test('a 200 that names 99 events of a batch is stored once, and lists stay light', async () => {
  const { sink, topics, system } = stage;
  sink.on('/naming', ({ headers }) => ({
    headers: { 'content-type': 'application/json' },
    body: namingBody(headers[DELIVERIES_HEADER]?.split(',').length ?? 1),
  }));
  const { source, destination, change } = await stage.connect({
    webhooks: [{ url: sink.url('/naming') }],
    batch: { maxEvents: 100, maxWait: '2s' },
    shards: 1,
  });
  const calls = someTracks(100);
  expect((await system.send(source.writeKey, 'batch', { batch: calls })).status).toBe(200);
  for (const { messageId } of calls) await topics.event(messageId, 'attempt');
  await change({ enabled: false });
  const attempts = calls.flatMap(({ messageId }) => topics.attemptsOf(messageId));
  const urls = attempts.flatMap((attempt) => attempt.urls);
  const batches = new Set(urls.flatMap(({ batch }) => batch?.id ?? []));
  const responses = urls.filter(({ response }) => (response?.body.length ?? 0) > 0);
  expect(urls.filter(({ status }) => status === 503).length).toBeGreaterThan(80);
  expect(responses.length).toBeGreaterThan(0);
  expect(responses.length).toBeLessThanOrEqual(batches.size);
  expect(batches.size).toBeLessThan(30);

  const { text } = await eventually(async () => {
    const path = `/api/v1/deliveries?destination=${destination.id}&limit=200`;
    const authorization = `Bearer ${PLANTED.adminToken}`;
    const list = await answered(`${system.controlUrl}${path}`, {
      method: 'GET',
      headers: { authorization },
    });
    expect((JSON.parse(list.text) as { data: object[] }).data).toHaveLength(100);
    return list;
  });
  // A copy of the response in each row would make it 16 KB longer.
  expect(text.length).toBeLessThan(100 * 4_096);
});

test('hostile requests stop no process and no call, and reveal no stack or secret', async () => {
  const { messageId } = await shop.send();
  await stage.topics.event(messageId, 'attempt', ({ outcome }) => outcome === 'delivered');
  expect(SERVICES.map((name) => stage.system.pids(name))).toEqual(pids);

  // Log lines are JSON. The banner is not: it shows the admin token once, on purpose.
  const log = stage.system
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .join('\n');
  expect(log.length).toBeGreaterThan(0);
  expect(answers.length).toBeGreaterThan(20);
  expect(answers.filter(({ status, text }) => status === 500 || STACK.test(text))).toEqual([]);
  expect(stage.system.output()).not.toMatch(STACK);
  expect(log).not.toContain('"stack"');
  for (const secret of Object.values(PLANTED)) {
    expect(answers.filter(({ text }) => text.includes(secret) && secret !== PLANTED.query)).toEqual(
      [],
    );
    expect(log.split('\n').filter((line) => line.includes(secret))).toEqual([]);
  }
});
