import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { ApiProblem, createClient } from '../../../../shared/api/client';
import { ADMIN_TOKEN, controlUnderTest } from '../../../support/control';

/** Tests the typed client against the running API. */

let server: Server;
let base: string;
beforeAll(async () => {
  server = createServer((await controlUnderTest()).app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api/v1`;
});
afterAll(() => server.close());

test('the client creates, lists, changes and deletes', async () => {
  const call = createClient({ base, token: ADMIN_TOKEN });
  const { data: source, etag } = await call('POST /sources', { body: { name: 'Site & shop' } });
  expect([source.name, source.enabled, etag]).toEqual(['Site & shop', true, '"1"']);
  await call('POST /sources', { body: { name: 'Second' } });
  const { data: page } = await call('GET /sources', { query: { limit: 1 } });
  const rest = await call('GET /sources', { query: { limit: 1, after: page.next! } });
  // Both were created in the same millisecond, so their order is undefined.
  expect([page, rest.data].map(({ data }) => data.length)).toEqual([1, 1]);
  expect(new Set([...page.data, ...rest.data.data].map(({ name }) => name))).toEqual(
    new Set(['Site & shop', 'Second']),
  );
  expect((await call('DELETE /sources/{id}', { id: source.id })).data).toBeUndefined();
});

test('the client reports a concurrent change to the second writer', async () => {
  // Two clients have read the same version. The second one is refused, reads the change of the
  // first, and continues.
  const call = createClient({ base, token: ADMIN_TOKEN });
  const { id } = (await call('POST /sources', { body: { name: 'Shared' } })).data;
  const { etag = '' } = await call('GET /sources/{id}', { id });
  await call('PATCH /sources/{id}', { id, ifMatch: etag, body: { name: 'By the first' } });
  const second = (ifMatch: string) =>
    call('PATCH /sources/{id}', { id, ifMatch, body: { enabled: false } });
  await expect(second(etag)).rejects.toMatchObject({
    status: 412,
    problem: { type: 'urn:waypost:problem:stale' },
  });
  const present = await call('GET /sources/{id}', { id });
  expect((await second(present.etag!)).data).toMatchObject({
    name: 'By the first',
    enabled: false,
  });
});

test('the client reports the errors of the API', async () => {
  const refused = createClient({ base, token: 'not-the-token' })('GET /sources', {});
  await expect(refused).rejects.toThrow(ApiProblem);
  await expect(refused).rejects.toMatchObject({ status: 401 });
  const call = createClient({ base, token: ADMIN_TOKEN });
  await expect(call('POST /sources', { body: { name: '' } })).rejects.toMatchObject({
    problem: { errors: [{ pointer: '#/name' }] },
  });
});
