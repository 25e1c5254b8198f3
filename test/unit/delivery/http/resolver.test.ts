import { NameResolver } from '../../../../services/delivery/http/resolver';
import { type NameServer, startNameServer } from '../../../support/name-server';

/** Names to addresses, asked of a real name server. */

const TIMEOUT_MS = 600;

let server: NameServer;
let names: NameResolver;
beforeEach(async () => {
  server = await startNameServer({ 'a.test': '192.0.2.1', 'silent.test': 'silent', 'failing.test': 'failing' });
  names = new NameResolver(TIMEOUT_MS, [server.address]);
});
afterEach(() => server.close());

test('a name has its address, whatever its case and with the dot of its root', async () => {
  expect(await names.resolve('A.test.')).toEqual(['192.0.2.1']);
});

test.each([
  ['is not there', 'missing.test', 'ENOTFOUND'],
  ['whose server fails', 'failing.test', 'ESERVFAIL'],
  ['that nobody answers for', 'silent.test', 'ETIMEOUT'],
])('a name that %s', async (_, name, code) => {
  await expect(names.resolve(name)).rejects.toMatchObject({ name: 'DnsError', code });
});

test('many ask for one name: the server is asked once, and while the answer holds not again', async () => {
  await Promise.all(Array.from({ length: 50 }, () => names.resolve('a.test')));
  await names.resolve('a.test');
  expect(server.asked).toEqual(['a.test']);
});

test('one that is never answered holds up no other', async () => {
  // Given a name that is being asked for in vain; then others are answered meanwhile.
  let over = false;
  const silent = names.resolve('silent.test').catch(() => (over = true));
  for (let i = 0; i < 20; i++) await names.resolve(i % 2 === 0 ? 'a.test' : 'localhost');
  expect(over).toBe(false);
  await silent;
});

test.each([
  ['192.0.2.7', ['192.0.2.7']],
  ['localhost', ['127.0.0.1', '::1']],
  ['shop.localhost', ['127.0.0.1', '::1']],
])('%s is nothing to ask for', async (name, addresses) => {
  expect(await names.resolve(name)).toEqual(addresses);
  expect(server.asked).toEqual([]);
});
