import { loadSettings } from '../../../shared/service/settings';

/** The checks of settings beyond their types. */

const dns = (value: string) => loadSettings({ WAYPOST_DNS_SERVERS: value }).WAYPOST_DNS_SERVERS;

test.each([
  ['', []],
  ['10.0.0.2', ['10.0.0.2']],
  ['10.0.0.2:5353, [fd00::2]:5353,fd00::2', ['10.0.0.2:5353', '[fd00::2]:5353', 'fd00::2']],
])('WAYPOST_DNS_SERVERS may be "%s"', (value, servers) => {
  expect(dns(value)).toEqual(servers);
});

test.each([
  'dns.example',
  '10.0.0',
  '10.0.0.2:',
  '10.0.0.2:0',
  '10.0.0.2:65536',
  '10.0.0.2:dns',
  '[10.0.0.2',
  'fd00::zz',
  'udp://10.0.0.2',
])('WAYPOST_DNS_SERVERS must not be "%s"', (value) => {
  expect(() => dns(value)).toThrow(`WAYPOST_DNS_SERVERS: must be addresses`);
});

test('one error lists all mistakes, and suggests a name for an unknown one', () => {
  const wrong = { WAYPOST_RETRY_DELAY: '1s', WAYPOST_TIMEOUT: 'soon', WAYPOST_PARTITIONS: '0' };
  expect(() => loadSettings(wrong)).toThrow(
    /WAYPOST_RETRY_DELAY: there is no such setting \(did you mean WAYPOST_RETRY_DELAYS\?\)[^]*WAYPOST_PARTITIONS: [^]*WAYPOST_TIMEOUT: /,
  );
});

test.each([
  [{ KAFKA_SSL_CA_FILE: 'ca.pem' }, 'KAFKA_SSL_CA_FILE: needs KAFKA_SSL=true'],
  [{ KAFKA_SSL: 'true', KAFKA_SSL_CERT_FILE: 'client.pem' }, 'KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE: one needs'],
])('TLS files that would have no effect are refused: %j', (env, mistake) => {
  expect(() => loadSettings(env)).toThrow(mistake);
});
