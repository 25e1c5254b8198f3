import supertest from 'supertest';
import { oddity } from '../../../../services/control/http/validate';
import { AppError } from '../../../../shared/runtime/errors';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';

let control: ControlUnderTest;
beforeEach(async () => {
  control = await controlUnderTest();
});

describe('tokens', () => {
  test.each([
    ['without a token', undefined],
    ['with an unknown token', 'Bearer planted-admin-token-012345678x'],
    ['with a part of the token', `Bearer ${ADMIN_TOKEN.slice(0, -1)}`],
    ['with another scheme', `Basic ${ADMIN_TOKEN}`],
    ['without a token after the scheme', 'Bearer '],
  ])('a request %s is refused', async (_, authorization) => {
    const request = supertest(control.app).get('/api/v1/sources');
    const answer = await (authorization === undefined
      ? request
      : request.set('Authorization', authorization));
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="waypost"/);
    expect(answer.body).toMatchObject({ status: 401, type: 'urn:waypost:problem:unauthorized' });
  });

  test('the token is checked before a body is read or an entry is looked up', async () => {
    const { app } = control;
    expect((await supertest(app).post('/api/v1/sources').type('json').send('{')).status).toBe(401);
    expect((await supertest(app).get('/api/v1/sources/src_none')).status).toBe(401);
  });
});

describe('unknown paths and methods', () => {
  test.each([
    ['get', '/nothing', 404],
    ['get', '/sources/src_none', 404],
    ['patch', '/sources/src_none', 404],
    ['post', '/destinations/dst_none/test', 404],
    ['post', '/destinations/dst_none/rotate-secret', 404],
    ['get', '/sources/%E0%A4%A', 404],
  ] as const)('%s %s responds with %d', async (method, path, status) => {
    const answer = await control.call(method, path);
    expect([answer.status, answer.body.status]).toEqual([status, status]);
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  });

  test('an unknown path outside the API is a problem too', async () => {
    const answer = await supertest(control.app).get('/elsewhere?token=planted');
    expect(answer.body).toMatchObject({ status: 404, instance: '/elsewhere' });
    expect(answer.text).not.toContain('planted');
  });

  test.each([
    ['put', '/sources', 'GET, HEAD, POST'],
    ['post', '/sources/src_x', 'GET, HEAD, PATCH, DELETE'],
    ['get', '/sources/src_x/rotate-key', 'POST'],
    ['delete', '/destinations', 'GET, HEAD, POST'],
    ['get', '/destinations/dst_x/test', 'POST'],
    ['post', '/catalog', 'GET, HEAD'],
  ] as const)('%s %s responds with 405', async (method, path, allow) => {
    const answer = await control.call(method, path);
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
  });
});

describe('bodies', () => {
  test.each([
    ['broken JSON', '{"sharedSecret":"planted-secret', 400],
    ['a JSON string in place of an object', '"planted-secret"', 400],
    ['an array in place of an object', '[]', 422],
    ['a key named __proto__', '{"name":"a","__proto__":{"enabled":false}}', 400],
    ['deep nesting', `{"name":${'['.repeat(40)}${']'.repeat(40)}}`, 400],
    ['half a million arrays', `[${'[],'.repeat(340_000)}[]]`, 400],
    ['very deep nesting', `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    ['more than 1 MB', JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), 413],
  ])('a body with %s is refused', async (_, body, status) => {
    const answer = await control.call('post', '/sources').type('json').send(body);
    expect([answer.status, answer.body.status]).toEqual([status, status]);
    expect(answer.text + control.logged()).not.toMatch(/planted-secret|node_modules|\.ts:/);
  });

  test('bodies are JSON with any Content-Type', async () => {
    const answer = await control.call('post', '/sources').type('form').send('{"name":"from curl"}');
    expect(answer.status).toBe(201);
  });

  test.each([
    ['get', '/openapi.json', 200],
    ['get', '/catalog', 200],
    ['delete', '/sources/src_none', 404],
    ['post', '/replays/rpl_none/cancel', 503],
  ] as const)(
    'an operation without a body does not read one: %s %s',
    async (method, path, status) => {
      const answer = await control.call(method, path).type('json').send('{');
      expect(answer.status).toBe(status);
    },
  );

  test('the depth of a body is measured without recursion', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 200_000; i++) deep = [deep];
    expect(oddity(deep)).toMatch(/deep/);
    expect(oddity({ a: [{ b: 1 }] })).toBeUndefined();
  });

  test('members are counted before each of them is validated', async () => {
    const types = Array.from({ length: 10_001 }, () => 'x');
    const headers = Object.fromEntries(types.map((value, i) => [`h${i}`, value]));
    for (const body of [{ destination: { types } }, { destination: { request: { headers } } }]) {
      const { status, body: problem } = await control
        .call('post', '/destinations/preview')
        .send(body);
      expect([status, problem.detail]).toEqual([
        400,
        'The body has a list or an object with more than 10000 members',
      ]);
    }
    expect(oddity({ a: types.slice(1) })).toBeUndefined();
  });
});

describe('responses', () => {
  test('responses are not cached or rendered as a page', async () => {
    const answer = await control.call('get', '/sources');
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(answer.headers['x-powered-by']).toBeUndefined();
  });

  test('a request while Kafka is away responds with 503 and Retry-After', async () => {
    control.memory.failWith(
      new AppError('kafka_unavailable', 'Kafka did not acknowledge in time', true),
    );
    const answer = await control.call('post', '/sources').send({ name: 'a' });
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
  });

  test('a change that Kafka refuses for good responds with 409 and the reason', async () => {
    control.memory.failWith(new AppError('kafka_refused', 'Kafka refuses a record for config'));
    const answer = await control.call('post', '/sources').send({ name: 'a' });
    expect([answer.status, answer.body]).toEqual([
      409,
      expect.objectContaining({ detail: 'Kafka refuses a record for config' }),
    ]);
  });

  test('an unexpected error is logged and its text is not sent', async () => {
    control.memory.failWith(new Error('planted detail'));
    const answer = await control.call('post', '/sources').send({ name: 'a' });
    expect([answer.status, answer.body.type]).toEqual([500, 'urn:waypost:problem:internal']);
    expect(answer.text).not.toMatch(/planted|stack|\.ts/);
    expect(control.logged()).toContain('planted detail');
  });
});

describe('the catalog', () => {
  test('the catalog contains the settings of a destination as JSON Schema', async () => {
    const { body } = await control.call('get', '/catalog');
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({ type: 'webhooks', name: 'Webhooks' });
    const { settings } = body.data[0];
    expect(settings).toMatchObject({
      $schema: expect.stringContaining('2020-12'),
      required: ['name', 'type', 'sources', 'webhooks'],
      additionalProperties: false,
    });
    expect(settings.properties.webhooks).toMatchObject({ minItems: 1, maxItems: 5 });
    expect(
      settings.properties.webhooks.items.properties.headers.additionalProperties.anyOf,
    ).toHaveLength(2);
  });
});
