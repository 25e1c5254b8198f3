import { createHmac, hkdfSync } from 'node:crypto';
import supertest from 'supertest';
import pino from 'pino';
import { Sessions, SESSION_MS } from '../../../../services/control/auth/sessions';
import { type Database } from '../../../../services/control/history/database';
import {
  ADMIN_TOKEN,
  type ControlUnderTest,
  controlUnderTest,
  SECRET_KEY,
} from '../../../support/control';
import { memoryDatabase } from '../../../support/database';
import { eventually } from '../../../support/eventually';

const HOST = 'waypost.example:8090';
const ORIGIN = { Origin: `http://${HOST}` };
const START = new Date('2026-01-01T00:00:00.000Z').getTime();

let database: Database;
let control: ControlUnderTest;
beforeAll(async () => (database = await memoryDatabase()));
afterAll(() => database.close());
beforeEach(async () => (control = await controlUnderTest({ database })));

/** Another control process on the same Kafka and, by default, the same database. */
const another = (over: Parameters<typeof controlUnderTest>[0] = {}) =>
  controlUnderTest({ memory: control.memory, database, ...over });

const make = async (fields: object) =>
  (await control.call('post', '/tokens').send({ name: 'Kim', ...fields })).body;
async function begin(
  token: string,
  on = control,
  headers: Record<string, string> = {},
): Promise<string> {
  const request = supertest(on.app).post('/api/v1/session');
  const answer = await request.set({ Host: HOST, ...headers }).send({ token });
  expect(answer.status).toBe(200);
  return answer.headers['set-cookie']![0]!.split(';')[0]!;
}
const get = (cookie: string, on = control, headers: Record<string, string> = {}) =>
  supertest(on.app)
    .get('/api/v1/session')
    .set({ Host: HOST, Cookie: cookie, ...headers });
const end = (cookie: string, on = control) =>
  supertest(on.app)
    .delete('/api/v1/session')
    .set({ Host: HOST, Cookie: cookie, ...ORIGIN });
const hashIn = (memory: ControlUnderTest['memory'], id: string) => {
  const [record] = memory.records('config').filter(({ key }) => key?.toString() === `token:${id}`);
  return (JSON.parse(record!.value!.toString()) as { data: { hash: string } }).data.hash;
};

test("a session cannot be forged with delivery's secret key and records of config", async () => {
  const { id } = await make({ role: 'admin' });
  const key = Buffer.from(hkdfSync('sha256', SECRET_KEY, '', 'waypost session', 32));
  const until = START + SESSION_MS;
  const mark = hashIn(control.memory, id).slice(0, 16);
  for (const fields of [
    [id, mark, HOST, until],
    ['some-session', id, mark, HOST, until],
  ]) {
    const text = Buffer.from(JSON.stringify(fields)).toString('base64url');
    const cookie = `waypost_session=${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
    expect((await get(cookie)).status).toBe(401);
  }
});

test('a session lasts at most 12 hours, even with a later end in its text', () => {
  const session = { token: 'admin', mark: 'mark', host: HOST };
  const lasting = (until: number) =>
    control.sessions.read(control.sessions.begin({ ...session, until }), HOST);
  expect(lasting(START + SESSION_MS)).toMatchObject(session);
  expect(lasting(START + 10 * 365 * 86_400_000)).toBeUndefined();
});

test('a token fills neither the audit trail nor the memory with its sessions', async () => {
  const { id, token } = await make({ role: 'read_only' });
  const audited = async (by: string) =>
    (await control.get(`/audit?kind=session&by=${by}&total=true`)).total.count as number;
  const login = (given: string) =>
    supertest(control.app).post('/api/v1/session').set({ Host: HOST }).send({ token: given });
  const before = await audited('admin');
  const statuses: number[] = [];
  for (let i = 0; i < 150; i++) {
    const answer = await login(token);
    statuses.push(answer.status);
    if (answer.status !== 200) {
      expect(answer.headers['retry-after']).toBe('10');
      continue;
    }
    const cookie = answer.headers['set-cookie']![0]!.split(';')[0]!;
    expect((await end(cookie)).status).toBe(204);
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.slice(100)).toEqual(Array(50).fill(429));
  // It ends no session, so there is nothing to tell.
  for (let i = 0; i < 150; i++) {
    const answer = await supertest(control.app)
      .delete('/api/v1/session')
      .set({ Authorization: `Bearer ${token}` });
    expect(answer.status).toBe(404);
  }
  expect((await login(ADMIN_TOKEN)).status).toBe(200);
  // Its row is written behind all others.
  await eventually(async () => expect(await audited('admin')).toBe(before + 1));
  expect(await audited(id)).toBe(200);
});

test('an ended session is refused, also by another control process', async () => {
  const other = await another();
  const cookie = await begin(ADMIN_TOKEN);
  const second = await begin(ADMIN_TOKEN);
  expect((await get(cookie, other)).status).toBe(200);
  expect((await end(cookie)).status).toBe(204);
  expect((await get(cookie)).status).toBe(401);
  await other.sessions.sync();
  expect((await get(cookie, other)).status).toBe(401);
  expect((await get(second, other)).status).toBe(200);
  const later = await another();
  expect((await get(cookie, later)).status).toBe(401);
});

test('a session ended without the database stays ended, and others learn it later', async () => {
  let isAway = true;
  const query: Database['query'] = (...args) =>
    isAway ? Promise.reject(new Error('the database is away')) : database.query(...args);
  const [away, other] = [await another({ database: { ...database, query } }), await another()];
  const cookie = await begin(ADMIN_TOKEN, away);
  const answer = await end(cookie, away);
  expect([answer.status, answer.body.detail]).toEqual([
    503,
    expect.stringContaining('has ended in this control process'),
  ]);
  expect(answer.headers['set-cookie']![0]).toMatch(/^waypost_session=;/);
  expect([(await get(cookie, away)).status, (await get(cookie, other)).status]).toEqual([401, 200]);
  isAway = false;
  await away.sessions.sync();
  await other.sessions.sync();
  expect((await get(cookie, other)).status).toBe(401);
});

test('a session survives a change of the admin token, unless that token started it', async () => {
  const { token } = await make({ role: 'operator' });
  const [kims, root] = [await begin(token), await begin(ADMIN_TOKEN)];
  const rotated = await another({ adminToken: 'another-admin-token-0123456789' });
  expect([(await get(kims, rotated)).status, (await get(root, rotated)).status]).toEqual([
    200, 401,
  ]);
});

test('a session is valid in every control process without a database', async () => {
  const [one, two] = [
    await another({ database: undefined }),
    await another({ database: undefined }),
  ];
  expect((await get(await begin(ADMIN_TOKEN, one), two)).status).toBe(200);
});

test('a session survives key rotation, and only keys of valid sessions are kept', async () => {
  const day = 86_400_000;
  const keys = async () => (await database.query('select period from waypost.session_keys')).length;
  const before = await keys();
  control.clock.now = new Date(START + 60 * day);
  await control.sessions.sync();
  expect(await keys()).toBe(before + 1);
  const cookie = await begin(ADMIN_TOKEN);
  const other = await another();
  other.clock.now = new Date(START + 60 * day + SESSION_MS - 60_000);
  await other.sessions.sync();
  expect((await get(cookie, other)).status).toBe(200);
  other.clock.now = new Date(START + 120 * day);
  await other.sessions.sync();
  expect(await keys()).toBe(2);
});

test('a session ends when its token expires, and the response says so', async () => {
  const { token } = await make({ role: 'operator', expiresAt: '2026-01-01T01:00:00Z' });
  const cookie = await begin(token);
  expect((await get(cookie)).body.expiresAt).toBe('2026-01-01T01:00:00.000Z');
  control.clock.now = new Date('2026-01-01T01:00:00.000Z');
  expect((await get(cookie)).status).toBe(401);
  const bearer = await supertest(control.app)
    .get('/api/v1/sources')
    .set('Authorization', `Bearer ${token}`);
  expect([bearer.status, bearer.body.detail]).toEqual([
    401,
    expect.stringContaining('expired at 2026-01-01T01:00'),
  ]);
  const again = await supertest(control.app)
    .post('/api/v1/session')
    .set({ Host: HOST })
    .send({ token });
  expect([again.status, again.body.detail]).toEqual([401, expect.stringContaining('expired')]);
});

test('a session follows the role of its token from the next request on', async () => {
  const { id, token } = await make({ role: 'admin' });
  const cookie = await begin(token);
  await control.call('patch', `/tokens/${id}`).send({ role: 'read_only' });
  const answer = await supertest(control.app)
    .get('/api/v1/tokens')
    .set({ Host: HOST, Cookie: cookie });
  expect(answer.status).toBe(403);
});

test.each(['é', 'ÿ.ÿ', '\u00ff'.repeat(43), 'a.é', `${'a'.repeat(20)}.${'é'.repeat(43)}`])(
  'a session cookie %j is refused with 401 and no error',
  async (value) => {
    expect((await get(`waypost_session=${value}`)).status).toBe(401);
    expect(control.logged()).not.toContain('request.failed');
  },
);

test('the session cookie over TLS cannot be set by other hosts of the domain', async () => {
  const tls = { 'X-Forwarded-Proto': 'https' };
  const cookie = await begin(ADMIN_TOKEN, control, tls);
  expect(cookie).toMatch(/^__Host-waypost_session=/);
  const answer = await get(cookie, control, tls);
  expect([answer.status, answer.headers['strict-transport-security']]).toEqual([
    200,
    'max-age=15552000',
  ]);
  expect((await get(cookie.replace('__Host-', ''), control, tls)).status).toBe(401);
  const plain = await get(await begin(ADMIN_TOKEN));
  expect([plain.status, plain.headers['strict-transport-security']]).toEqual([200, undefined]);
});

test('a token with an end shows it in the session, and a cookie shows its own end', async () => {
  const expiresAt = '2026-02-01T00:00:00.000Z';
  const { token } = (await make({ role: 'operator', expiresAt })) as { token: string };
  const cookie = await begin(token);
  const ends = async (headers: Record<string, string>) =>
    (await get(cookie, control, headers)).body.expiresAt;
  expect(await ends({ Authorization: `Bearer ${token}` })).toBe(expiresAt);
  expect(await ends({ Authorization: `Bearer ${ADMIN_TOKEN}` })).toBeNull();
  expect(await ends({})).toBe(new Date(START + SESSION_MS).toISOString());
});

test('a lone process asks the database for sessions each minute, or when one ends', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  try {
    const ask = jest.fn(() => Promise.resolve({ keys: [], ended: [] }) as Promise<never>);
    const log = pino({ level: 'silent' });
    const given = {
      history: { ask },
      secretKeys: [SECRET_KEY],
      adminToken: ADMIN_TOKEN,
      now: Date.now,
      log,
    };
    const [alone, shared] = [true, false].map(
      (each) => new Sessions({ ...given, isOnlyProcess: each }),
    ) as [Sessions, Sessions];
    const asked = async (ms: number) => {
      ask.mockClear();
      await jest.advanceTimersByTimeAsync(ms);
      return ask.mock.calls.length;
    };
    await alone.start();
    expect(await asked(59_000)).toBe(0);
    expect(await asked(3_000)).toBe(1);
    await alone.end({
      id: 'one',
      token: 't',
      mark: 'm',
      host: HOST,
      until: Date.now() + SESSION_MS,
    });
    expect(ask).toHaveBeenCalledTimes(2);
    await alone.stop();
    await shared.start();
    expect(await asked(10_000)).toBe(5);
    await shared.stop();
  } finally {
    jest.useRealTimers();
  }
});
