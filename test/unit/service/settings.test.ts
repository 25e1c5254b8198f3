import { loadSettings } from '../../../shared/service/settings';

/** What settings may be, where it is more than a type. */

const dns = (value: string) => loadSettings({ WAYPOST_DNS_SERVERS: value }).WAYPOST_DNS_SERVERS;

test.each([
  ['', []],
  ['10.0.0.2', ['10.0.0.2']],
  ['10.0.0.2:5353, [fd00::2]:5353,fd00::2', ['10.0.0.2:5353', '[fd00::2]:5353', 'fd00::2']],
])('name servers: "%s"', (value, servers) => {
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
])('no name server: "%s"', (value) => {
  expect(() => dns(value)).toThrow(`WAYPOST_DNS_SERVERS: must be addresses`);
});

test('all mistakes are told at once, unknown names with a guess', () => {
  const wrong = { WAYPOST_RETRY_DELAY: '1s', WAYPOST_TIMEOUT: 'soon', WAYPOST_PARTITIONS: '0' };
  expect(() => loadSettings(wrong)).toThrow(
    /WAYPOST_RETRY_DELAY: there is no such setting \(did you mean WAYPOST_RETRY_DELAYS\?\)[^]*WAYPOST_PARTITIONS: [^]*WAYPOST_TIMEOUT: /,
  );
});

test.each([
  [{ KAFKA_SSL_CA_FILE: 'ca.pem' }, 'KAFKA_SSL_CA_FILE: needs KAFKA_SSL=true'],
  [{ KAFKA_SSL: 'true', KAFKA_SSL_CERT_FILE: 'client.pem' }, 'KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE: one needs'],
])('files for TLS that would not be used: %j', (env, mistake) => {
  expect(() => loadSettings(env)).toThrow(mistake);
});
