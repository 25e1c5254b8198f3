import supertest from 'supertest';
import { type Right, RIGHTS } from '../../../../services/control/access/rights';
import { OPERATION_IDS, operationOf, rightFor } from '../../../../services/control/operations';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

let control: ControlUnderTest;
/** by right: a token with this one alone, and a token with all others */
let only: Record<Right, string>;
let others: Record<Right, string>;
beforeAll(async () => {
  control = await controlUnderTest();
  const make = async (rights: readonly Right[], role = 'admin') =>
    (await control.call('post', '/tokens').send({ name: 'Narrow', role, rights })).body.token as string;
  const pairs = async (rightsOf: (right: Right) => readonly Right[]) =>
    Object.fromEntries(await Promise.all(RIGHTS.map(async (right) => [right, await make(rightsOf(right))] as const)));
  only = (await pairs((right) => [right])) as Record<Right, string>;
  others = (await pairs((right) => RIGHTS.filter((each) => each !== right))) as Record<Right, string>;
});

const ask = (token: string, id: string) => {
  const [method, path] = id.toLowerCase().split(' ') as [Method, string];
  const request = supertest(control.app)[method](`/api/v1${path.replace('{id}', 'none')}`);
  return request.set('Authorization', `Bearer ${token}`).send();
};

const narrowed = OPERATION_IDS.filter((id) => rightFor(id) !== undefined && !operationOf(id).stream);
it.each(narrowed)('%s is open to a token with its right, and closed to one without', async (id) => {
  const right = rightFor(id)!;
  expect([401, 403]).not.toContain((await ask(only[right], id)).status);
  const refused = await ask(others[right], id);
  expect([refused.status, refused.body.type]).toEqual([403, 'urn:waypost:problem:forbidden']);
  expect(refused.body.detail).toContain(right);
});

it('a stream of events needs the right events:read', async () => {
  expect((await ask(others['events:read'], 'GET /events/stream')).status).toBe(403);
});

it('a right never widens a role', async () => {
  const body = { name: 'Reader', role: 'read_only', rights: ['sources:read', 'sources:write', 'tokens:write'] };
  const { token } = (await control.call('post', '/tokens').send(body)).body;
  expect((await ask(token as string, 'GET /sources')).status).toBe(200);
  expect((await ask(token as string, 'POST /sources')).status).toBe(403);
  expect((await ask(token as string, 'POST /tokens')).status).toBe(403);
});

it('a session has the rights of its token, and may ask who it is', async () => {
  const host = 'waypost.example';
  const begun = await supertest(control.app)
    .post('/api/v1/session')
    .set('Host', host)
    .send({ token: only['events:read'] });
  const cookie = begun.headers['set-cookie']![0]!.split(';')[0]!;
  const get = async (path: string) =>
    (await supertest(control.app).get(`/api/v1${path}`).set({ Host: host, Cookie: cookie })).status;
  expect([await get('/session'), await get('/events'), await get('/sources')]).toEqual([200, 200, 403]);
});

it('the OpenAPI document names role and right of each operation, and lists all rights', async () => {
  const { body } = await supertest(control.app).get('/api/v1/openapi.json');
  expect(body['x-waypost-rights']).toEqual(RIGHTS);
  for (const id of OPERATION_IDS) {
    const [method, path] = id.split(' ') as [string, string];
    const described = body.paths[path][method.toLowerCase()];
    expect([described['x-waypost-role'], described['x-waypost-right']]).toEqual([operationOf(id).role, rightFor(id)]);
  }
  expect(body.paths['/destinations/{id}'].patch['x-waypost-admin-fields']).toEqual(['webhooks', 'sharedSecret']);
});
