import { gzipSync } from 'node:zlib';
import { type Request } from 'express';
import supertest from 'supertest';
import { isSignedOut } from '../../../../console/src/lib/problems';
import { Refusals } from '../../../../services/control/auth/refusals';
import { ApiProblem } from '../../../../shared/api/client';
import { Problem } from '../../../../services/control/http/problem';
import { type Log } from '../../../../shared/telemetry/log';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';

let control: ControlUnderTest;
beforeEach(async () => (control = await controlUnderTest()));

const BURST = 60;
const get = (token: string) =>
  supertest(control.app).get('/api/v1/sources').set('Authorization', `Bearer ${token}`);
const login = (token: string) => supertest(control.app).post('/api/v1/session').send({ token });
const lines = () =>
  control
    .logged()
    .split('\n')
    .flatMap((line) =>
      line.includes('request.refused') ? [JSON.parse(line) as Record<string, unknown>] : [],
    );

test.each([
  ['with a wrong token', () => get('wpt_wrong')],
  ['without a token', () => supertest(control.app).get('/api/v1/sources')],
  ['at a login with a wrong token', () => login('wpt_wrong')],
])('too many requests %s from one address are answered 429 with Retry-After', async (_, ask) => {
  for (let i = 0; i < BURST; i++) expect((await ask()).status).toBe(401);
  const answer = await ask();
  expect([answer.status, answer.body.type, answer.headers['retry-after']]).toEqual([
    429,
    'urn:waypost:problem:rate_limited',
    '1',
  ]);
  control.clock.now = new Date(control.clock.now.getTime() + 1_000);
  expect((await ask()).status).toBe(401);
});

test.each([
  ['broken JSON', '{', 400],
  ['a body without a token', '{"token":7}', 422],
  ['more than 4 KB', JSON.stringify({ token: 'x'.repeat(4_096) }), 413],
])('too many logins with %s from one address are answered 429', async (_, body, status) => {
  const ask = () => supertest(control.app).post('/api/v1/session').type('json').send(body);
  for (let i = 0; i < BURST; i++) expect((await ask()).status).toBe(status);
  expect((await ask()).status).toBe(429);
});

test('a compressed login is answered 415 without inflating it, and later 429', async () => {
  const zip = gzipSync(`[${'[],'.repeat(300_000)}[]]`);
  const ask = () =>
    supertest(control.app)
      .post('/api/v1/session')
      .set('Content-Encoding', 'gzip')
      .type('json')
      .send(zip);
  for (let i = 0; i < BURST; i++) expect((await ask()).status).toBe(415);
  expect((await ask()).status).toBe(429);
});

test('a console at a limited address still learns that its session has ended', async () => {
  for (let i = 0; i <= BURST; i++) await get('wpt_wrong');
  const { status, body } = await supertest(control.app)
    .get('/api/v1/session')
    .set('Cookie', 'waypost_session=a.b');
  expect(status).toBe(429);
  expect(isSignedOut(new ApiProblem(status, body as object))).toBe(true);
});

test('bad bodies with a valid token do not count against the address', async () => {
  for (let i = 0; i <= BURST; i++) {
    expect((await control.call('post', '/sources').send({})).status).toBe(422);
  }
});

test('a valid token is never refused for its address, in a header or at a login', async () => {
  for (let i = 0; i <= BURST; i++) await login('wpt_wrong');
  expect((await login('wpt_wrong')).status).toBe(429);
  expect((await get(ADMIN_TOKEN)).status).toBe(200);
  expect((await login(ADMIN_TOKEN)).status).toBe(200);
});

test('a refusal is logged with operation, address and known token id, once a minute', async () => {
  const { body } = await control.call('post', '/tokens').send({ name: 'Kim', role: 'read_only' });
  const create = () =>
    supertest(control.app)
      .post('/api/v1/tokens')
      .set('Authorization', `Bearer ${body.token}`)
      .send({ name: 'Evil' });
  await create();
  await create();
  await get('wpt_wrong');
  await login('wpt_planted');
  const address = expect.stringMatching(/127\.0\.0\.1$/);
  expect(lines()).toMatchObject([
    { operation: 'POST /tokens', status: 403, token: body.id, address },
    { operation: 'GET /sources', status: 401, address },
    { operation: 'POST /session', status: 401, address },
  ]);
  expect(control.logged()).not.toContain(body.token);
  expect(control.logged()).not.toContain('wpt_planted');
  const later = performance.now() + 60_000;
  jest.spyOn(performance, 'now').mockReturnValue(later);
  await create();
  jest.restoreAllMocks();
  expect(lines()).toHaveLength(4);
});

test('the log names an expired token by its id', async () => {
  const expiresAt = new Date(control.clock.now.getTime() + 1_000).toISOString();
  const { body } = await control
    .call('post', '/tokens')
    .send({ name: 'Kim', role: 'read_only', expiresAt });
  control.clock.now = new Date(control.clock.now.getTime() + 2_000);
  expect((await get(body.token as string)).status).toBe(401);
  expect(lines()).toMatchObject([{ status: 401, token: body.id }]);
});

describe('many addresses', () => {
  const MANY = 1_100;
  const refuse = () => {
    const logged: unknown[] = [];
    let address = '';
    const log = { warn: (line: unknown) => logged.push(line) } as unknown as Log;
    const refusals = new Refusals({ clientAddress: () => address, log, now: () => 0 });
    const req = { socket: {}, get: () => undefined } as unknown as Request;
    const from = (of: string, token?: string) => {
      address = of;
      refusals.responseTo(new Problem(token ? 'forbidden' : 'unauthorized', 'No'), req, {
        operation: 'GET /x',
        token,
      });
    };
    return { logged, from };
  };

  test('addresses of one IPv6 network share one log line for each status', () => {
    const { logged, from } = refuse();
    for (let i = 0; i < MANY; i++) from(`2001:db8::${i.toString(16)}`);
    from('2001:db8:0:1::1');
    expect(logged).toMatchObject([
      { address: '2001:db8::0', status: 401 },
      { status: 429 },
      { address: '2001:db8:0:1::1', status: 401 },
    ]);
  });

  test('refusals of strangers do not displace those of known tokens in the log', () => {
    const { logged, from } = refuse();
    for (let i = 0; i < MANY; i++) from(`10.0.${i >> 8}.${i & 255}`);
    from('10.9.9.9', 'tok_1');
    expect(logged.at(-1)).toMatchObject({ token: 'tok_1', status: 403 });
  });
});
