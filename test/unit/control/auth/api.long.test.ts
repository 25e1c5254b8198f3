import supertest from 'supertest';
import { type Role, ROLES } from '../../../../shared/model/config';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';

let control: ControlUnderTest;
let tokens: Record<Role, string>;
beforeEach(async () => {
  control = await controlUnderTest();
  const made = await Promise.all(ROLES.map(async (role) => [role, await makeToken(role)] as const));
  tokens = Object.fromEntries(made) as Record<Role, string>;
});

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';
const makeToken = async (role: Role) =>
  (await control.call('post', '/tokens').send({ name: role, role })).body.token as string;
const as = (token: string, method: Method, path: string) =>
  supertest(control.app)[method](`/api/v1${path}`).set('Authorization', `Bearer ${token}`);
const makeDestination = async () => {
  const webhooks = [{ url: 'https://a.example/in?token=planted', headers: { 'X-Key': 'planted' } }];
  const { id } = await control.destination({ webhooks, sharedSecret: 'planted-secret' });
  return id as string;
};

describe('a token', () => {
  test('a token is shown once, stored as a hash, and accepted', async () => {
    const { body, status } = await control
      .call('post', '/tokens')
      .send({ name: 'Kim', role: 'operator' });
    expect([status, body.token]).toEqual([201, expect.stringMatching(/^wpt_[\w-]{43}$/)]);
    const stored = control.memory
      .records('config')
      .map(({ value }) => value?.toString())
      .join();
    expect(stored).not.toContain(body.token);
    expect(await control.get(`/tokens/${body.id}`)).not.toHaveProperty('token');
    expect((await control.get('/tokens')).data).toHaveLength(4);
    expect((await as(body.token, 'get', '/sources')).status).toBe(200);
    expect(control.logged()).not.toContain(body.token);
  });

  test('a deleted token is refused, and a changed role applies', async () => {
    const { id, token } = (
      await control.call('post', '/tokens').send({ name: 'Kim', role: 'admin' })
    ).body;
    expect((await as(token, 'get', '/tokens')).status).toBe(200);
    await control.call('patch', `/tokens/${id}`).send({ role: 'read_only' });
    expect((await as(token, 'get', '/tokens')).status).toBe(403);
    expect((await as(token, 'get', '/sources')).status).toBe(200);
    await control.call('delete', `/tokens/${id}`);
    expect((await as(token, 'get', '/sources')).status).toBe(401);
  });

  test('a control process that starts later accepts the token', async () => {
    const later = await controlUnderTest({ memory: control.memory });
    control = later;
    expect((await as(tokens.operator, 'get', '/sources')).status).toBe(200);
  });
});

test('an operator runs replays and tests, and neither sees nor sets a secret', async () => {
  const id = await makeDestination();
  const source = (await control.call('post', '/sources').send({ name: 'Site' })).body;
  const seen = await as(tokens.operator, 'get', `/destinations/${id}`);
  expect(seen.body.webhooks[0].url).toBe('https://a.example');
  expect(seen.text + (await as(tokens.operator, 'get', '/destinations')).text).not.toContain(
    'planted',
  );
  const sources = await as(tokens.operator, 'get', `/sources/${source.id}`);
  expect([sources.body.writeKey, sources.text.includes(source.writeKey)]).toEqual([null, false]);
  expect(
    (await as(tokens.operator, 'patch', `/destinations/${id}`).send({ enabled: true })).status,
  ).toBe(200);
  const request = { body: '{"id": messageId}' };
  expect((await as(tokens.operator, 'patch', `/destinations/${id}`).send({ request })).status).toBe(
    200,
  );
  for (const patch of [{ sharedSecret: 'mine' }, { webhooks: [] }, { sharedSecret: null }]) {
    expect((await as(tokens.operator, 'patch', `/destinations/${id}`).send(patch)).status).toBe(
      403,
    );
  }
  expect(await control.get(`/destinations/${id}`)).toMatchObject({
    enabled: true,
    hasSharedSecret: true,
  });
});

test('the record of each change contains a note with its author', async () => {
  const id = await makeDestination();
  await as(tokens.operator, 'patch', `/destinations/${id}`).send({ paused: true });
  const notes = control.memory
    .records('config')
    .flatMap(({ key, headers }) =>
      key!.toString() === `destination:${id}` ? [JSON.parse(headers.note!)] : [],
    );
  expect(notes).toMatchObject([
    { action: 'created', by: { id: 'admin', role: 'admin' } },
    {
      action: 'changed',
      by: { name: 'operator' },
      changes: [{ field: 'paused', from: false, to: true }],
    },
  ]);
  expect(JSON.stringify(notes)).not.toContain('planted');
});

describe('a session', () => {
  const HOST = 'waypost.example:8090';
  const begin = async (token = ADMIN_TOKEN, headers: Record<string, string> = {}) =>
    supertest(control.app)
      .post('/api/v1/session')
      .set({ Host: HOST, ...headers })
      .send({ token });
  const cookieFrom = (answer: supertest.Response) =>
    answer.headers['set-cookie']![0]!.split(';')[0]!;
  const withCookie = (
    cookie: string,
    method: Method,
    path: string,
    headers: Record<string, string> = {},
  ) => {
    const request = supertest(control.app);
    return request[method](`/api/v1${path}`).set({ Host: HOST, Cookie: cookie, ...headers });
  };

  test('the session cookie is hidden from scripts and other sites', async () => {
    const answer = await begin();
    expect(answer.body).toMatchObject({
      id: 'admin',
      name: 'admin token',
      role: 'admin',
      expiresAt: '2026-01-01T12:00:00.000Z',
    });
    const cookie = answer.headers['set-cookie']![0]!;
    expect(cookie).toMatch(/; Path=\/.*; HttpOnly; SameSite=Strict/);
    expect(cookie).not.toMatch(/Secure/);
    expect(cookie + answer.text).not.toContain(ADMIN_TOKEN);
    const secure = await begin(ADMIN_TOKEN, { 'X-Forwarded-Proto': 'https' });
    expect(secure.headers['set-cookie']![0]).toMatch(/; Secure/);
  });

  test('a session has the access of its token', async () => {
    const cookie = cookieFrom(await begin(tokens.read_only));
    expect((await withCookie(cookie, 'get', '/session')).body).toMatchObject({ role: 'read_only' });
    expect((await withCookie(cookie, 'get', '/sources')).status).toBe(200);
    const origin = { Origin: `http://${HOST}` };
    expect((await withCookie(cookie, 'post', '/sources', origin).send({ name: 'a' })).status).toBe(
      403,
    );
  });

  test.each<[string, Method, Record<string, string>, number]>([
    ['a session admits requests of its own pages', 'post', { Origin: `http://${HOST}` }, 201],
    [
      'a session refuses requests that change something from another page',
      'post',
      { Origin: 'http://evil.example' },
      401,
    ],
    [
      'a session refuses requests that change something from another port',
      'post',
      { Origin: 'http://waypost.example:9' },
      401,
    ],
    ['a session refuses requests that change something without an origin', 'post', {}, 401],
    [
      'a session refuses requests that change something with the origin null',
      'post',
      { Origin: 'null' },
      401,
    ],
    ['a session refuses requests at another host', 'get', { Host: 'rebound.example:8090' }, 401],
    [
      'a session refuses requests that read from another page',
      'get',
      { Origin: 'http://evil.example' },
      401,
    ],
  ])('%s', async (_, method, headers, status) => {
    const cookie = cookieFrom(await begin());
    const request = withCookie(cookie, method, '/sources', headers);
    expect((await (method === 'post' ? request.send({ name: 'a' }) : request)).status).toBe(status);
  });

  test('a session starts neither from another page nor with an unknown token', async () => {
    expect((await begin(ADMIN_TOKEN, { Origin: 'http://evil.example' })).status).toBe(403);
    expect((await begin('wpt_unknown')).status).toBe(401);
    expect((await begin(ADMIN_TOKEN, { Origin: `http://${HOST}` })).status).toBe(200);
  });

  test('a session ends with its time, with its token, and by a logout', async () => {
    const { id, token } = (
      await control.call('post', '/tokens').send({ name: 'Kim', role: 'admin' })
    ).body;
    const cookie = cookieFrom(await begin(token));
    const status = async () => (await withCookie(cookie, 'get', '/sources')).status;
    expect(await status()).toBe(200);
    control.clock.now = new Date('2026-01-01T12:00:00.000Z');
    expect(await status()).toBe(401);
    control.clock.now = new Date('2026-01-01T00:00:00.000Z');
    await control.call('delete', `/tokens/${id}`);
    expect(await status()).toBe(401);
    const own = cookieFrom(await begin());
    const ended = await withCookie(own, 'delete', '/session', { Origin: `http://${HOST}` });
    // Without a database the session ends in this process only, and the response says so.
    expect([ended.status, ended.headers['set-cookie']![0]]).toEqual([
      503,
      expect.stringMatching(/Expires=Thu, 01 Jan 1970/),
    ]);
    expect((await withCookie(own, 'get', '/session')).status).toBe(401);
  });

  test('a forged session is refused', async () => {
    const cookie = cookieFrom(await begin(tokens.read_only));
    const [name, value] = cookie.split('=') as [string, string];
    const [text, signature] = value.split('.') as [string, string];
    const forged = Buffer.from(
      Buffer.from(text, 'base64url')
        .toString()
        .replace(/tok_\w+/, 'admin'),
    ).toString('base64url');
    for (const other of [
      `${forged}.${signature}`,
      `${text}.${signature.slice(1)}`,
      text,
      '',
      'a.b',
      `${text}.`,
    ]) {
      expect((await withCookie(`${name}=${other}`, 'get', '/sources')).status).toBe(401);
    }
  });
});
