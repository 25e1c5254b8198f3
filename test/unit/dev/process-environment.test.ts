import {
  javaEnvironment,
  neededSecrets,
  serviceEnvironment,
  toolEnvironment,
} from '../../../dev/process-environment';
import { type ProcessName } from '../../../bin/service-list';
import { settingsSchema } from '../../../shared/runtime/settings';

/** Each process gets the secrets that it needs, and no others. */

const SECRETS = {
  WAYPOST_ADMIN_TOKEN: 'a',
  WAYPOST_SECRET_KEY: 'k',
  WAYPOST_DATABASE_URL: 'postgres://user:password@db/waypost',
  WAYPOST_SMTP_URL: 'smtps://user:password@mail.example.com',
  WAYPOST_EGRESS_PROXY: 'http://user:password@proxy:3128',
  WAYPOST_MAVEN_MIRROR: 'https://user:password@mirror.example.com',
  WAYPOST_TOKEN: 't',
  WAYPOST_WRITE_KEY: 'w',
  WAYPOST_SHARED_SECRET: 's',
  WAYPOST_ENDPOINT_AUTH: 'e',
};
const OTHERS = { PATH: '/bin', WAYPOST_TIMEOUT: '5s', KAFKA_BROKERS: '127.0.0.1:1' };

test.each<[ProcessName, string[]]>([
  ['ingest', []],
  ['router', []],
  ['delivery', ['WAYPOST_SECRET_KEY', 'WAYPOST_SMTP_URL', 'WAYPOST_EGRESS_PROXY']],
  ['retry', []],
  ['audiences', []],
  [
    'control',
    ['WAYPOST_ADMIN_TOKEN', 'WAYPOST_SECRET_KEY', 'WAYPOST_DATABASE_URL', 'WAYPOST_SMTP_URL'],
  ],
  [
    'all',
    [
      'WAYPOST_ADMIN_TOKEN',
      'WAYPOST_SECRET_KEY',
      'WAYPOST_DATABASE_URL',
      'WAYPOST_SMTP_URL',
      'WAYPOST_EGRESS_PROXY',
    ],
  ],
])('the process %s gets the secrets %j', (name, secrets) => {
  expect(Object.keys(serviceEnvironment(name, { ...SECRETS, ...OTHERS }))).toEqual([
    ...secrets,
    ...Object.keys(OTHERS),
  ]);
});

test('every setting whose value may be a secret has its readers in the table', () => {
  const likely = Object.keys(settingsSchema.shape).filter((name) =>
    /^WAYPOST_.*(TOKEN|KEY|SECRET|PASSWORD|DATABASE_URL|SMTP_URL|PROXY|MIRROR)$/.test(name),
  );
  expect(likely.filter((name) => !(name in SECRETS))).toEqual([]);
});

test('a service requires no secret but those that it gets', () => {
  expect(neededSecrets('delivery')).toEqual(['WAYPOST_SECRET_KEY']);
  expect(neededSecrets('control')).toEqual(['WAYPOST_ADMIN_TOKEN', 'WAYPOST_SECRET_KEY']);
  expect(neededSecrets('ingest')).toEqual([]);
});

test('Kafka gets nothing but what a JVM reads', () => {
  const env = { ...SECRETS, ...OTHERS, AWS_SECRET_ACCESS_KEY: 'x', JAVA_TOOL_OPTIONS: '-Dx=1' };
  expect(javaEnvironment(env)).toEqual({ PATH: '/bin', JAVA_TOOL_OPTIONS: '-Dx=1' });
});

test('pip and Maven keep the settings of their user, and get none of Waypost', () => {
  const env = { ...SECRETS, ...OTHERS, OTEL_EXPORTER_OTLP_HEADERS: 'x', PIP_INDEX_URL: 'y' };
  expect(toolEnvironment(env)).toEqual({ PATH: '/bin', PIP_INDEX_URL: 'y' });
});
