import { awsRegion, loadSettings } from '../../../shared/runtime/settings';

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

test('control bounds its connections without a setting', () => {
  expect(loadSettings({}).WAYPOST_CONTROL_CONNECTIONS).toBe(1_024);
});

test('an admin token of fewer than 16 characters is refused, and not shown', () => {
  const load = (token: string) => loadSettings({ WAYPOST_ADMIN_TOKEN: token });
  expect(load('1234567890abcdef').WAYPOST_ADMIN_TOKEN).toBe('1234567890abcdef');
  expect(() => load('1234567890abcde')).toThrow(
    'These settings are wrong:\n  WAYPOST_ADMIN_TOKEN: must have at least 16 characters',
  );
  expect(() => load('1234567890abcde')).not.toThrow('1234567890abcde');
});

test('one error lists all mistakes, and suggests a name for an unknown one', () => {
  const wrong = { WAYPOST_RETRY_DELAY: '1s', WAYPOST_TIMEOUT: 'soon', WAYPOST_PARTITIONS: '0' };
  expect(() => loadSettings(wrong)).toThrow(
    /WAYPOST_RETRY_DELAY: there is no such setting \(did you mean WAYPOST_RETRY_DELAYS\?\)[^]*WAYPOST_PARTITIONS: [^]*WAYPOST_TIMEOUT: /,
  );
});

test.each([
  [{ KAFKA_SSL_CA_FILE: 'ca.pem' }, 'KAFKA_SSL_CA_FILE: needs KAFKA_SSL=true'],
  [
    { KAFKA_SSL: 'true', KAFKA_SSL_CERT_FILE: 'client.pem' },
    'KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE: one needs',
  ],
])('TLS files that would have no effect are refused: %j', (env, mistake) => {
  expect(() => loadSettings(env)).toThrow(mistake);
});

const ENDPOINT = { KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: 'https://login.example.com/token' };
const USER = { KAFKA_SASL_USERNAME: 'wp', KAFKA_SASL_PASSWORD: 'planted-password' };
const mechanism = (name: string) => ({ KAFKA_SASL_MECHANISM: name });

test.each<[Record<string, string>, string]>([
  [USER, 'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: needs KAFKA_SASL_MECHANISM beside it'],
  [
    mechanism('kerberos'),
    'KAFKA_SASL_MECHANISM: must be plain, scram-sha-256, scram-sha-512, oauthbearer or aws-msk-iam',
  ],
  [
    mechanism('plain'),
    'KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD beside it',
  ],
  [
    { ...mechanism('plain'), KAFKA_SASL_USERNAME: 'wp' },
    'needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD beside it',
  ],
  [
    { ...mechanism('plain'), ...USER, KAFKA_SASL_PASSWORD_FILE: 'f' },
    'KAFKA_SASL_PASSWORD and KAFKA_SASL_PASSWORD_FILE: give only one of them',
  ],
  [
    { ...mechanism('oauthbearer'), ...USER },
    `oauthbearer needs KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL beside it`,
  ],
  [
    { ...mechanism('oauthbearer'), ...ENDPOINT },
    'needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD (client id and secret) beside it',
  ],
  [
    { ...mechanism('plain'), ...USER, ...ENDPOINT, KAFKA_SASL_OAUTHBEARER_SCOPE: 's' },
    'KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL, KAFKA_SASL_OAUTHBEARER_SCOPE: needs ' +
      'KAFKA_SASL_MECHANISM=oauthbearer beside it',
  ],
  [
    {
      ...mechanism('oauthbearer'),
      ...USER,
      KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: 'file:///token',
    },
    'KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD: has no effect here; oauthbearer takes its ' +
      'token from elsewhere',
  ],
  [
    { KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: 'login.example.com' },
    'must be an address such as https://login.example.com/oauth2/token',
  ],
  [{ KAFKA_SASL_OAUTHBEARER_EXTENSIONS: 'lkc-1' }, 'must be pairs such as logicalCluster=lkc-1'],
  [{ KAFKA_SASL_OAUTHBEARER_EXTENSIONS: 'auth=x' }, 'must be pairs such as logicalCluster=lkc-1'],
  [
    { KAFKA_SASL_OAUTHBEARER_SCOPES: 's' },
    'there is no such setting (did you mean KAFKA_SASL_OAUTHBEARER_SCOPE?)',
  ],
  [
    { ...mechanism('aws-msk-iam'), AWS_REGION: 'r' },
    'aws-msk-iam needs KAFKA_SSL=true and AWS_REGION beside it',
  ],
  [
    { ...mechanism('aws-msk-iam'), KAFKA_SSL: 'true', KAFKA_BROKERS: 'b-1.mine:9098' },
    'aws-msk-iam needs KAFKA_SSL=true and AWS_REGION beside it',
  ],
  [
    {
      ...mechanism('aws-msk-iam'),
      KAFKA_SSL: 'true',
      AWS_REGION: 'eu-central-1',
      KAFKA_SASL_USERNAME: 'wp',
    },
    'KAFKA_SASL_USERNAME: has no effect here; aws-msk-iam takes its token from elsewhere',
  ],
])('logins that are wrong or half given are refused: %j', (env, mistake) => {
  expect(() => loadSettings(env)).toThrow(mistake);
  expect(() => loadSettings(env)).not.toThrow('planted-password');
});

test.each<Record<string, string>>([
  { ...mechanism('scram-sha-512'), ...USER },
  { ...mechanism('scram-sha-512'), KAFKA_SASL_USERNAME: 'wp', KAFKA_SASL_PASSWORD_FILE: 'f' },
  {
    ...mechanism('oauthbearer'),
    ...USER,
    ...ENDPOINT,
    KAFKA_SASL_OAUTHBEARER_EXTENSIONS: 'logicalCluster=lkc-1,pool=p=1',
  },
  { ...mechanism('oauthbearer'), KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: 'file:///token' },
  { ...mechanism('aws-msk-iam'), KAFKA_SSL: 'true', AWS_REGION: 'eu-central-1' },
  {
    ...mechanism('aws-msk-iam'),
    KAFKA_SSL: 'true',
    KAFKA_BROKERS: 'b-1.x.c2.kafka.us-east-1.amazonaws.com:9098',
  },
])('these logins are accepted: %j', (env) => {
  expect(() => loadSettings(env)).not.toThrow();
});

test.each([
  ['b-1.demo.abc.c2.kafka.us-east-1.amazonaws.com:9098', 'us-east-1'],
  ['boot-x.c1.kafka-serverless.eu-central-1.amazonaws.com:9098', 'eu-central-1'],
  ['b-1.demo.abc.c3.kafka.cn-north-1.amazonaws.com.cn:9098', 'cn-north-1'],
  ['kafka.example.com:9098', 'eu-west-1'],
])('the region of the cluster with the broker %s is %s', (broker, region) => {
  expect(awsRegion({ KAFKA_BROKERS: [broker], AWS_REGION: 'eu-west-1' })).toBe(region);
});

const retention = (value: string, more: Record<string, string> = {}) =>
  loadSettings({ WAYPOST_TOPIC_RETENTION: value, ...more }).WAYPOST_TOPIC_RETENTION;

test.each([
  ['', {}],
  ['messages=3d, webhooks=4h', { messages: 259_200_000, webhooks: 14_400_000 }],
])('WAYPOST_TOPIC_RETENTION may be "%s"', (value, parsed) => {
  expect(retention(value)).toEqual(parsed);
});

test.each([
  '7d',
  'config=7d',
  'messages',
  'messages=soon',
  'attempts=1d,attempts=2d',
  'messages=31d',
])('WAYPOST_TOPIC_RETENTION must not be "%s"', (value) => {
  expect(() => retention(value)).toThrow(
    /WAYPOST_TOPIC_RETENTION: may name messages, webhooks, attempts at most once each/,
  );
});

test('a topic must keep its records for the retry window', () => {
  expect(() => retention('messages=1d,webhooks=3h')).toThrow(
    'WAYPOST_TOPIC_RETENTION: webhooks must keep at least 4h, the window of WAYPOST_RETRY_WINDOW',
  );
  // No delivery depends on it.
  expect(retention('attempts=1h')).toEqual({ attempts: 3_600_000 });
  expect(retention('webhooks=3h', { WAYPOST_RETRY_WINDOW: '3h' })).toEqual({
    webhooks: 10_800_000,
  });
});

test.each([
  ['smtp://relay.internal:25?tls=off', undefined],
  ['smtp://kim:planted@mail.example.com?from=waypost@example.com', undefined],
  ['smtps://kim:planted@mail.example.com', undefined],
  ['smtp://kim:planted@relay.internal?tls=off', 'tls=off excludes a password'],
  ['smtp://kim@relay.internal?tls=off', 'tls=off excludes a password'],
  ['smtps://relay.internal?tls=off', 'tls=off contradicts smtps://'],
  ['smtp://relay.internal?tls=no', 'tls must be off or absent'],
  ['kim:planted', 'must be an address such as smtps://'],
])('the mail server %s is refused: %s', (url, problem) => {
  const load = () => loadSettings({ WAYPOST_SMTP_URL: url });
  if (problem === undefined) expect(load().WAYPOST_SMTP_URL).toBe(url);
  else expect(load).toThrow(problem);
  if (problem !== undefined) expect(load).not.toThrow(/planted/);
});
