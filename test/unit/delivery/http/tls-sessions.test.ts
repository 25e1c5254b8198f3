import { TlsSessions } from '../../../../services/delivery/http/tls-sessions';

const aSession = (name: string) => Buffer.from(name);
const NEVER = Infinity;

test('beyond the limit, the session that was used least recently is forgotten', () => {
  const sessions = new TlsSessions(2);
  sessions.set('a:443', aSession('a'), NEVER);
  sessions.set('b:443', aSession('b'), NEVER);
  sessions.get('a:443');
  sessions.set('c:443', aSession('c'), NEVER);
  expect(sessions.get('b:443')).toBeUndefined();
  expect([sessions.get('a:443'), sessions.get('c:443')].map(String)).toEqual(['a', 'c']);
});

test("a server's latest session replaces its earlier one, and each port has its own", () => {
  const sessions = new TlsSessions();
  sessions.set('a:443', aSession('first'), NEVER);
  sessions.set('a:443', aSession('second'), NEVER);
  sessions.set('a:8443', aSession('other'), NEVER);
  sessions.delete('a:8443');
  expect(String(sessions.get('a:443'))).toBe('second');
  expect(sessions.get('a:8443')).toBeUndefined();
});

test('a session ends with the certificate that it began with', () => {
  let now = 1_000;
  const sessions = new TlsSessions(2, () => now);
  sessions.set('a:443', aSession('a'), 2_000);
  expect(String(sessions.get('a:443'))).toBe('a');
  now = 2_001;
  expect(sessions.get('a:443')).toBeUndefined();
});
