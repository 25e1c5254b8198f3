import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import supertest from 'supertest';
import { OPERATION_IDS, RESOURCES, RIGHTS } from '../../../../shared/api/access';
import { type Database } from '../../../../services/control/history/database';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { memoryDatabase } from '../../../support/database';

let control: ControlUnderTest;
let server: Server | undefined;
beforeEach(async () => (control = await controlUnderTest()));
afterEach(() => server?.close());

const post = (fields: object) =>
  control.call('post', '/tokens').send({ name: 'Kim', role: 'read_only', ...fields });
const as = (token: string, path: string, on = control) =>
  supertest(on.app).get(`/api/v1${path}`).set('Authorization', `Bearer ${token}`);

test('a token has an expiry and a list of rights, or null without them', async () => {
  const plain = await post({});
  expect(plain.body).toMatchObject({ rights: null, expiresAt: null, lastUsedAt: null });
  const made = await post({
    expiresAt: '2026-02-01T01:00:00+01:00',
    rights: ['events:read', 'events:read'],
  });
  expect([made.status, made.body]).toMatchObject([
    201,
    {
      expiresAt: '2026-02-01T00:00:00.000Z',
      rights: ['events:read'],
      token: expect.stringMatching(/^wpt_/),
    },
  ]);
  const read = await control.get(`/tokens/${made.body.id}`);
  expect(read).toMatchObject({ expiresAt: '2026-02-01T00:00:00.000Z', rights: ['events:read'] });
  const patch = (body: object) => control.call('patch', `/tokens/${made.body.id}`).send(body);
  expect((await patch({ name: 'Lee' })).body).toMatchObject({
    rights: ['events:read'],
    name: 'Lee',
  });
  expect((await patch({ rights: null, expiresAt: null })).body).toMatchObject({
    rights: null,
    expiresAt: null,
  });
});

test('an expired token can be renamed and prolonged', async () => {
  const { id } = (await post({ expiresAt: '2026-02-01T00:00:00Z' })).body;
  control.clock.now = new Date('2026-03-01T00:00:00Z');
  const patch = (body: object) => control.call('patch', `/tokens/${id}`).send(body);
  expect((await patch({ name: 'Old' })).status).toBe(200);
  expect((await patch({ expiresAt: '2026-02-02T00:00:00Z' })).status).toBe(422);
  expect((await patch({ expiresAt: '2026-04-01T00:00:00Z' })).status).toBe(200);
});

test.each([
  [{ expiresAt: '2025-12-31T00:00:00Z' }, '#/expiresAt'],
  [{ expiresAt: 'tomorrow' }, '#/expiresAt'],
  [{ rights: [] }, '#/rights'],
  [{ rights: ['events:delete'] }, '#/rights/0'],
  [{ rights: ['everything'] }, '#/rights/0'],
  [{ rights: 'events:read' }, '#/rights'],
])('a token with %j is refused and not stored', async (fields, pointer) => {
  const answer = await post(fields);
  expect([answer.status, answer.body.errors]).toMatchObject([422, [{ pointer }]]);
  expect((await control.get('/tokens')).data).toEqual([]);
});

test('a token with a list of rights creates no token with more rights', async () => {
  const rights = ['tokens:read', 'tokens:write', 'events:read'];
  const { token, id } = (await post({ role: 'admin', rights })).body;
  const send = (method: 'post' | 'patch', path: string, body: object) =>
    supertest(control.app)
      [method](`/api/v1${path}`)
      .set('Authorization', `Bearer ${token}`)
      .send(body);
  expect((await send('post', '/tokens', { name: 'a', role: 'admin' })).status).toBe(403);
  expect(
    (await send('post', '/tokens', { name: 'a', role: 'admin', rights: ['sources:write'] })).status,
  ).toBe(403);
  expect(
    (await send('post', '/tokens', { name: 'a', role: 'admin', rights: ['events:read'] })).status,
  ).toBe(201);
  expect((await send('patch', `/tokens/${id}`, { rights: null })).status).toBe(403);
});

describe('an expiring token', () => {
  const end = '2026-02-01T00:00:00.000Z';
  const later = '2026-02-02T00:00:00.000Z';
  const made = async () => {
    const { token, id } = (await post({ role: 'admin', expiresAt: end })).body as {
      token: string;
      id: string;
    };
    const send = (method: 'post' | 'patch', path: string, body: object) =>
      supertest(control.app)
        [method](`/api/v1${path}`)
        .set('Authorization', `Bearer ${token}`)
        .send(body);
    return { id, send };
  };

  test('an expiring token creates no token that ends later', async () => {
    const { send } = await made();
    const create = (fields: object) =>
      send('post', '/tokens', { name: 'a', role: 'admin', ...fields });
    const refused = await create({});
    expect([refused.status, refused.body.detail]).toEqual([
      403,
      expect.stringContaining(`ends at ${end}`),
    ]);
    expect((await create({ expiresAt: later })).status).toBe(403);
    expect((await create({ expiresAt: end })).status).toBe(201);
  });

  test('an expiring token prolongs neither itself nor another token beyond its end', async () => {
    const { id, send } = await made();
    const other = (await post({ expiresAt: '2026-01-15T00:00:00Z' })).body.id as string;
    for (const each of [id, other]) {
      expect((await send('patch', `/tokens/${each}`, { expiresAt: null })).status).toBe(403);
      expect((await send('patch', `/tokens/${each}`, { expiresAt: later })).status).toBe(403);
    }
    expect((await send('patch', `/tokens/${other}`, { expiresAt: end })).status).toBe(200);
    expect((await send('patch', `/tokens/${id}`, { name: 'Kim again' })).status).toBe(200);
  });

  test('an expiring token renames a token without an end, and may give it one', async () => {
    const { send } = await made();
    const other = (await post({})).body.id as string;
    expect((await send('patch', `/tokens/${other}`, { name: 'Lee' })).status).toBe(200);
    expect((await send('patch', `/tokens/${other}`, { expiresAt: later })).status).toBe(200);
  });
});

test.each<[string, (id: string) => supertest.Test, number]>([
  ['deleted', (id) => control.call('delete', `/tokens/${id}`), 401],
  [
    'narrowed',
    (id) => control.call('patch', `/tokens/${id}`).send({ rights: ['tokens:read'] }),
    403,
  ],
])(
  'a token that is %s while the body of its request comes changes nothing',
  async (_, end, status) => {
    const { token, id } = (await post({ name: 'Kim', role: 'admin' })).body;
    const begun = new Promise<void>((resolve) => {
      server = createServer((req, res) => {
        control.app(req, res);
        resolve();
      }).listen(0);
    });
    const sending = request({
      port: (server!.address() as AddressInfo).port,
      method: 'POST',
      path: '/api/v1/tokens',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });
    sending.flushHeaders();
    const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
    await begun;
    await end(id as string);
    sending.end('{"name": "Lee", "role": "admin"}');
    const [answer] = await answered;
    answer.resume();
    const { data } = await control.get('/tokens');
    expect(answer.statusCode).toBe(status);
    expect((data as { name: string }[]).map(({ name }) => name)).not.toContain('Lee');
  },
);

test('every path of the API has its resource among the rights', () => {
  const open = ['session', 'openapi.json', 'lookup'];
  const named = OPERATION_IDS.map((key) => key.replace(/^[A-Z]+ /, '').split('/')[1]!);
  expect([...new Set(named)].filter((each) => !open.includes(each)).sort()).toEqual([...RESOURCES]);
  expect(RIGHTS).toContain('events:read');
});

describe('the last use of a token', () => {
  let database: Database;
  beforeAll(async () => (database = await memoryDatabase()));
  afterAll(() => database.close());

  test("a token's last use is stored to the minute in the database, never in config", async () => {
    control = await controlUnderTest({ database });
    const { id, token } = (await post({})).body;
    const lastUse = async (on: ControlUnderTest) => (await on.get(`/tokens/${id}`)).lastUsedAt;
    expect(await lastUse(control)).toBeNull();
    const records = control.memory.records('config').length;
    control.clock.now = new Date('2026-01-01T00:10:59.999Z');
    await as(token, '/sources');
    expect(await lastUse(control)).toBe('2026-01-01T00:10:00.000Z');
    await control.tokenUses.stop();
    const other = await controlUnderTest({ memory: control.memory, database });
    expect(await lastUse(other)).toBe('2026-01-01T00:10:00.000Z');
    expect((await other.get('/tokens')).data[0].lastUsedAt).toBe('2026-01-01T00:10:00.000Z');
    expect(control.memory.records('config')).toHaveLength(records);
  });
});
