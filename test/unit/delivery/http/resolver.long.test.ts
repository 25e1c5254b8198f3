import { NameResolver } from '../../../../services/delivery/http/resolver';
import { type NameServer, startNameServer } from '../../../support/name-server';

/** Name resolution, against a real name server. */

const TIMEOUT_MS = 600;

let server: NameServer;
let names: NameResolver;
beforeEach(async () => {
  server = await startNameServer({
    'a.test': '192.0.2.1',
    'silent.test': 'silent',
    'failing.test': 'failing',
  });
  names = new NameResolver(TIMEOUT_MS, [server.address]);
});
afterEach(() => server.close());

test('a name resolves in any case, and with a trailing dot', async () => {
  expect(await names.resolve('A.test.')).toEqual(['192.0.2.1']);
});

test.each([
  ['does not exist', 'missing.test', 'ENOTFOUND'],
  ['has a failing server', 'failing.test', 'ESERVFAIL'],
  ['has a silent server', 'silent.test', 'ETIMEOUT'],
])('a name that %s gives an error', async (_, name, code) => {
  await expect(names.resolve(name)).rejects.toMatchObject({ name: 'DnsError', code });
});

test('concurrent lookups of a name cause one query, and none follows while cached', async () => {
  await Promise.all(Array.from({ length: 50 }, () => names.resolve('a.test')));
  await names.resolve('a.test');
  expect(server.asked).toEqual(['a.test']);
});

test('a name is queried again after its TTL, although the clock was set back', async () => {
  await names.resolve('a.test');
  const later = performance.now() + 61_000;
  jest.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000);
  jest.spyOn(performance, 'now').mockReturnValue(later);
  await names.resolve('a.test');
  jest.restoreAllMocks();
  expect(server.asked).toEqual(['a.test', 'a.test']);
});

test('a name whose server never answers delays no other', async () => {
  // While one name waits for a silent server, others are resolved.
  const patient = new NameResolver(5 * TIMEOUT_MS, [server.address]);
  let over = false;
  const silent = patient.resolve('silent.test').catch(() => (over = true));
  for (let i = 0; i < 20; i++) await patient.resolve(i % 2 === 0 ? 'a.test' : 'localhost');
  expect(over).toBe(false);
  await silent;
});

test.each([
  ['192.0.2.7', ['192.0.2.7']],
  ['localhost', ['127.0.0.1', '::1']],
  ['shop.localhost', ['127.0.0.1', '::1']],
])('%s resolves without a query', async (name, addresses) => {
  expect(await names.resolve(name)).toEqual(addresses);
  expect(server.asked).toEqual([]);
});
