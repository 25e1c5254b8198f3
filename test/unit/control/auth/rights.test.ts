import supertest from 'supertest';
import { OPERATION_IDS, type Right, RIGHTS, rightsFor } from '../../../../shared/api/access';
import { operationOf } from '../../../../shared/api/operations';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { eventually } from '../../../support/eventually';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

const AT = '2026-01-01T00:00:00.000Z';
const aCall = (source: string, fields: object) => ({
  topic: 'messages',
  key: `${source}:u`,
  value: JSON.stringify({
    type: 'track',
    messageId: 'm1',
    timestamp: AT,
    receivedAt: AT,
    ...fields,
  }),
  headers: { format: FORMAT_HEADER, source, message: 'm1', 'accepted-at': '1', traceparent: '' },
});

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

let control: ControlUnderTest;
/** by right: a token with only this right, and a token with all others */
let only: Record<Right, string>;
let others: Record<Right, string>;
beforeAll(async () => {
  control = await controlUnderTest();
  const pairs = async (rightsOf: (right: Right) => readonly Right[]) =>
    Object.fromEntries(
      await Promise.all(RIGHTS.map(async (right) => [right, await make(rightsOf(right))] as const)),
    );
  only = (await pairs((right) => [right])) as Record<Right, string>;
  others = (await pairs((right) => RIGHTS.filter((each) => each !== right))) as Record<
    Right,
    string
  >;
});

const make = async (rights: readonly Right[]) =>
  (await control.call('post', '/tokens').send({ name: 'Narrow', role: 'admin', rights })).body
    .token as string;

const ask = (token: string, id: string) => {
  const [method, path] = id.toLowerCase().split(' ') as [Method, string];
  const request = supertest(control.app)[method](`/api/v1${path.replace('{id}', 'none')}`);
  return request.set('Authorization', `Bearer ${token}`).send();
};

const narrowed = OPERATION_IDS.filter((id) => rightsFor(id).length > 0 && !operationOf(id).stream);
test.each(narrowed)(
  '%s accepts a token with exactly its rights, and refuses one without any of them',
  async (id) => {
    const rights = rightsFor(id);
    const token = rights.length === 1 ? only[rights[0]!] : await make(rights);
    expect([401, 403]).not.toContain((await ask(token, id)).status);
    for (const right of rights) {
      const refused = await ask(others[right], id);
      expect([refused.status, refused.body.type]).toEqual([403, 'urn:waypost:problem:forbidden']);
      expect(refused.body.detail).toContain(`the right ${right}, which`);
    }
  },
);

describe('a token without events:read', () => {
  const rights = RIGHTS.filter((right) => right !== 'events:read');

  test('a token without events:read cannot read events by trying a filter', async () => {
    const { body: source } = await control.call('post', '/sources').send({ name: 'Shop' });
    control.memory.append([aCall(source.id as string, { event: 'Order', userId: 'ann' })]);
    const attempt = async (as: readonly Right[]) =>
      supertest(control.app)
        .post('/api/v1/filters/try')
        .set('Authorization', `Bearer ${await make(as)}`)
        .send({ filter: 'userId == "ann"' });
    await eventually(async () => {
      expect((await attempt(['filters:write', 'events:read'])).body.matched).toBe(1);
    });
    for (const without of [rights, ['filters:write'] as const]) {
      const refused = await attempt(without);
      expect([refused.status, refused.body.matched, refused.body.results]).toEqual([
        403,
        undefined,
        undefined,
      ]);
    }
  });

  test("a token without events:read reads no events by a destination's filter", async () => {
    const { id } = await control.destination({ filter: 'userId == "ann"' });
    const look = async (as: readonly Right[]) => {
      const token = await make(as);
      const asked = supertest(control.app).get(`/api/v1/destinations/${String(id)}/filter`);
      return (await asked.set('Authorization', `Bearer ${token}`)).status;
    };
    expect(await look(['destinations:read', 'events:read'])).toBe(200);
    expect(await look(['destinations:read'])).toBe(403);
    expect(await look(rights)).toBe(403);
  });
});

test('a token for destinations previews requests, but no event without events:read', async () => {
  const destination = await control.destination();
  const preview = async (as: readonly Right[], fields: object = {}) => {
    const asked = supertest(control.app).post('/api/v1/destinations/preview');
    const answer = await asked
      .set('Authorization', `Bearer ${await make(as)}`)
      .send({ destination: destination.id, ...fields });
    return answer.status;
  };
  expect(await preview(['destinations:read'])).toBe(200);
  expect(await preview(['destinations:write'])).toBe(403);
  expect(await preview(['destinations:read'], { event: 'evt_1' })).toBe(403);
  expect(await preview(['destinations:read', 'events:read'], { event: 'evt_1' })).toBe(422);
});

test('a token without audiences:read cannot read members by a preview', async () => {
  const token = await make(['audiences:write']);
  const refused = await ask(token, 'POST /audiences/preview');
  expect([refused.status, refused.body.detail]).toEqual([
    403,
    expect.stringContaining('audiences:read'),
  ]);
});

test('a stream of events needs the right events:read', async () => {
  expect((await ask(others['events:read'], 'GET /events/stream')).status).toBe(403);
});

test('a right never widens a role', async () => {
  const body = {
    name: 'Reader',
    role: 'read_only',
    rights: ['sources:read', 'sources:write', 'tokens:write'],
  };
  const { token } = (await control.call('post', '/tokens').send(body)).body;
  expect((await ask(token as string, 'GET /sources')).status).toBe(200);
  expect((await ask(token as string, 'POST /sources')).status).toBe(403);
  expect((await ask(token as string, 'POST /tokens')).status).toBe(403);
});

test('a session has the rights of its token, and may read its identity', async () => {
  const host = 'waypost.example';
  const begun = await supertest(control.app)
    .post('/api/v1/session')
    .set('Host', host)
    .send({ token: only['events:read'] });
  const cookie = begun.headers['set-cookie']![0]!.split(';')[0]!;
  const get = async (path: string) =>
    (await supertest(control.app).get(`/api/v1${path}`).set({ Host: host, Cookie: cookie })).status;
  expect([await get('/session'), await get('/events'), await get('/sources')]).toEqual([
    200, 200, 403,
  ]);
});

test('OpenAPI names the role and rights of each operation, and lists all rights', async () => {
  const { body } = await supertest(control.app).get('/api/v1/openapi.json');
  expect(body['x-waypost-rights']).toEqual(RIGHTS);
  for (const id of OPERATION_IDS) {
    const [method, path] = id.split(' ') as [string, string];
    const described = body.paths[path][method.toLowerCase()];
    expect([described['x-waypost-role'], described['x-waypost-rights'] ?? []]).toEqual([
      operationOf(id).role,
      rightsFor(id),
    ]);
  }
  expect(body.paths['/destinations/{id}'].patch['x-waypost-admin-fields']).toEqual([
    'webhooks',
    'sharedSecret',
    'signature',
    'proxy',
  ]);
});
