import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka as KafkaJs,
  logLevel,
  ResourcePatternTypes,
} from 'kafkajs';
import { grantsOf, userNames } from '../../bin/grants';
import { type Broker } from '../../dev/kafka/broker';
import { findKafka } from '../../dev/kafka/kafka-source';
import { storedPorts } from '../../dev/stored-ports';
import { SERVICES } from '../../bin/service-list';
import { createAcls, createScramUsers, type Grant } from '../../shared/kafka/client/acls';
import { kafkaAddress, probeKafka, waitForKafka } from '../../shared/kafka/client/connection';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka } from '../../shared/kafka/port';
import { REJECTED } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { makeCertificate } from '../support/certificate';
import { eventually } from '../support/eventually';
import { aTrack, type Call } from '../support/factories';
import { copyHistoryFiles } from '../support/history-files';
import { type Service, startService } from '../support/service';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startSupervised } from '../support/supervised';
import { call } from '../../tools/harness/api';
import { systemEnv } from '../../tools/harness/system';
import { readTopic } from '../support/topics';

/**
 * Kafka with production security: TLS with a private authority, certificates on both sides, a SCRAM
 * password or a token for each service, and exactly the ACLs of bin/grants.ts.
 */

// eslint-disable-next-line @typescript-eslint/no-require-imports -- kafkajs does not export it
const SaslAuthenticator = require('kafkajs/src/broker/saslAuthenticator') as {
  prototype: { authenticate: () => Promise<void> };
};

const PREFIX = 'secured.';
const USER = 'wp-';
const PASSWORD = 'a-long-password';
const READY_MS = 120_000;
const TOKEN = 'token-of-an-administrator';

const dir = mkdtempSync(join(tmpdir(), 'waypost-security-'));
const file = (name: string, ...parts: string[]) => {
  writeFileSync(join(dir, name), parts.join(''));
  return join(dir, name);
};
const authority = makeCertificate({ name: 'an authority', authority: true });
const client = makeCertificate({ name: 'a client', issuer: authority });
const CA = file('ca.pem', authority.cert);
const files = {
  KAFKA_SSL_CA_FILE: CA,
  KAFKA_SSL_CERT_FILE: file('client.pem', client.cert),
  KAFKA_SSL_KEY_FILE: file('client.key', client.key),
};

let broker: Broker;
let shared: Record<string, string>;
let sink: Sink;
let provider: Server;
let tokens = 0;
const running: Service[] = [];
let started: Promise<void> | undefined;

beforeAll(async () => {
  const launch = await findKafka(() => undefined);
  broker = await launch({
    dir,
    open: true,
    properties: await securedProperties(),
  });
  const admin = { ...environment('admin'), KAFKA_SASL_MECHANISM: 'plain' };
  await waitForKafka(addressOf(admin), READY_MS);
  await grant(admin, grantsOf(PREFIX, USER));
  await createScramUsers(
    loadSettings(admin),
    new Map(userNames(USER).map((name) => [name, PASSWORD])),
  );
  await eventually(() => connected(kafkaAs(environment('topics'))));
  provider = await startProvider();
  sink = await startSink();
  shared = await systemEnv({
    dataDir: join(dir, 'data'),
    prefix: PREFIX,
    env: {
      WAYPOST_ADMIN_TOKEN: TOKEN,
      WAYPOST_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
      WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8',
      WAYPOST_HOST: '127.0.0.1',
      WAYPOST_RETRY_DELAYS: '200ms',
    },
  });
}, 400_000);

afterAll(async () => {
  await Promise.all(running.map((service) => service.stop()));
  await sink.close();
  await new Promise((resolve) => provider.close(resolve));
  await broker.discard();
  rmSync(dir, { recursive: true, force: true });
}, 240_000);

test('every service works as a separate Kafka user with no more rights than it needs', async () => {
  await startAll();

  // Then a delivery passes through a tier, arrives, and is sent again by an operator.
  sink.on('/', [{ status: 503 }, {}]);
  const { id, writeKey } = await control('POST', '/sources', { name: 'A source' });
  const destination = await control('POST', '/destinations', {
    name: 'A destination',
    type: 'webhooks',
    enabled: true,
    sources: [id],
    webhooks: [{ url: sink.url('/'), headers: {} }],
  });
  await eventually(async () => {
    await call(
      'POST',
      `http://127.0.0.1:${shared.WAYPOST_INGEST_PORT!}/v1/track`,
      {},
      { ...aTrack(), writeKey },
    );
    await sink.waitFor(2, { timeoutMs: 2_000 });
  });
  const delivered = await eventually(async () => {
    const { data } = await control(
      'GET',
      `/deliveries?destination=${destination.id}&status=delivered`,
    );
    if (data.length === 0) throw new Error('no delivery is in the history');
    return data[0];
  });
  await control('POST', `/deliveries/${delivered.id}/replay`);
  expect(await control('POST', `/destinations/${destination.id}/test`, {})).toMatchObject({
    status: 'delivered',
  });
  await control('POST', '/deletions', { userIds: ['somebody'] });
  await eventually(() => {
    const types = sink
      .received('/')
      .map(({ body }) => (JSON.parse(String(body)) as { type: string }).type);
    expect(types).toContain('delete');
  });
  for (const service of running) expect(service.output()).not.toMatch(/authoriz/i);

  // Kafka refuses writes that a service has no right to.
  await expect(
    Promise.all(FORBIDDEN.map(([name, topic]) => written(name, topic))),
  ).resolves.toEqual(FORBIDDEN.map(() => 'TOPIC_AUTHORIZATION_FAILED'));
}, 400_000);

test('without the right to write messages.rejected ingest and router continue', async () => {
  await startAll();
  const admin = { ...environment('admin'), KAFKA_SASL_MECHANISM: 'plain' };
  const rejected = `${PREFIX}${REJECTED}`;
  const ofRejected = grantsOf(PREFIX, USER).filter(({ name }) => name === rejected);
  const { id, writeKey } = await control('POST', '/sources', { name: 'A source' });
  await control('POST', '/destinations', {
    name: 'A destination',
    type: 'webhooks',
    enabled: true,
    sources: [id],
    webhooks: [{ url: sink.url('/rights'), headers: {} }],
  });
  const arrives = async (name: string) => {
    const calls = Array.from({ length: 20 }, (_, i) => ({
      ...aTrack(),
      messageId: `${name}-${i}`,
    }));
    // The last call of the batch is rejected.
    const batch = [...calls, { type: 'track', messageId: `${name}-no-user` }];
    const url = `http://127.0.0.1:${shared.WAYPOST_INGEST_PORT!}/v1/batch`;
    const { status } = await call('POST', url, {}, { batch, writeKey });
    expect(status).toBe(200);
    await eventually(() => {
      const ids = sink
        .received('/rights')
        .map(({ body }) => (JSON.parse(String(body)) as Call).messageId);
      expect(calls.filter(({ messageId }) => !ids.includes(messageId))).toEqual([]);
    });
  };
  await eventually(() => arrives('before'), { deadlineMs: 120_000 });

  // Given a revoked right, and a message that the router cannot read.
  await revoke(admin, ['router', 'ingest'], rejected);
  await eventually(async () =>
    expect(await written('router', REJECTED)).toBe('TOPIC_AUTHORIZATION_FAILED'),
  );
  const env = loadSettings({ ...shared, ...environment('ingest') });
  const kafka = await connectKafka(env, { clientId: 'test', log: createLog('test', 'silent') });
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  await producer.send([{ topic: 'messages', key: 'k', value: 'unreadable by the router' }]);

  // Then every call is delivered, also after the router has tried for a while.
  await arrives('without');
  await eventually(async () => expect(await blocked('ROUTER')).toContain(`name="${REJECTED}"`));
  await arrives('blocked');
  const looking = loadSettings({ ...shared, ...environment('control') });
  const view = await connectKafka(looking, { clientId: 'test', log: createLog('test', 'silent') });
  expect(await textOf(view, REJECTED)).not.toContain('unreadable by the router');

  await grant(admin, ofRejected);
  await eventually(async () =>
    expect(await textOf(view, REJECTED)).toContain('unreadable by the router'),
  );
  await producer.close(1_000);
  await Promise.all([kafka.close(), view.close()]);
}, 400_000);

const FORBIDDEN = [
  ['ingest', 'webhooks'],
  ['router', 'config'],
  ['delivery', 'config'],
  ['retry', 'messages'],
] as const;

test('a topic without the right to write delays no other, and is written later', async () => {
  const settings = loadSettings({ ...shared, ...environment('ingest') });
  const kafka = await connectKafka(settings, {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const patient = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 'retry' });
  const hurried = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  const record = (topic: string, value: string) => ({ topic, key: 'k', value });

  let isWritten = false;
  const before = await kafka.ranges('messages');
  const held = patient.send([record('webhooks', 'held')]).then(() => (isWritten = true));
  for (const value of ['a', 'b', 'c']) await patient.send([record('messages', value)]);
  await expect(hurried.send([record('webhooks', 'refused')])).rejects.toMatchObject({
    code: 'kafka_refused',
    message: expect.stringMatching(/TOPIC_AUTHORIZATION_FAILED.*allow the user/),
  });
  await patient.send([record('messages', 'd')]);
  expect(isWritten).toBe(false);
  const count = (ranges: { high: number }[]) => ranges.reduce((sum, { high }) => sum + high, 0);
  expect(count(await kafka.ranges('messages')) - count(before)).toBe(4);

  const principal = `User:${USER}ingest`;
  await grant({ ...environment('admin'), KAFKA_SASL_MECHANISM: 'plain' }, [
    {
      principal,
      resource: 'topic',
      name: `${PREFIX}webhooks`,
      prefixed: false,
      operations: ['Write'],
    },
  ]);
  await held;
  await Promise.all([patient.close(1_000), hurried.close(1_000)]);
  await kafka.close();
}, 240_000);

test('a user that may not read with a group is told so, and its process ends', async () => {
  const settings = loadSettings({ ...shared, ...environment('ingest') });
  const kafka = await connectKafka(settings, {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const fatal: unknown[] = [];
  const consumption = await kafka.consume({
    group: 'router',
    topics: ['messages'],
    onRecord: () => 'busy',
    onFatal: (error) => fatal.push(error),
  });
  await eventually(() =>
    expect(fatal).toEqual([
      expect.objectContaining({
        code: 'cannot_start',
        message: `this user may not read with the consumer group ${PREFIX}waypost-router`,
      }),
    ]),
  );
  await consumption.stop(1_000);
  await kafka.close();
}, 240_000);

test('a client logs in with one token of its identity provider for all connections', async () => {
  await startAll();
  const before = tokens;
  const env = { ...shared, ...environment('ingest'), ...bearer() };
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  await producer.send([{ topic: 'messages', key: 'k', value: 'with a token' }]);
  expect(tokens - before).toBe(1);
  expect(await textOf(kafka, 'config')).toBeDefined();
  expect(await written('ingest', 'config', bearer())).toBe('TOPIC_AUTHORIZATION_FAILED');
  await producer.close(1_000);
  await kafka.close();
}, 240_000);

test('a client logs in again on its open connections before the broker ends them', async () => {
  const logins = jest.spyOn(SaslAuthenticator.prototype, 'authenticate');
  const opened = jest.spyOn(tls, 'connect');
  const kafka = await connectKafka(
    loadSettings({
      ...environment('admin'),
      KAFKA_SASL_MECHANISM: 'plain',
      WAYPOST_TOPIC_PREFIX: 'again.',
      WAYPOST_PARTITIONS: '1',
      WAYPOST_REPLICATION: '1',
    }),
    { clientId: 'test', log: createLog('test', 'silent') },
  );
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  let sent = 0;
  const read: string[] = [];
  const consumption = await kafka.consume({
    group: 'test',
    topics: ['messages'],
    onRecord: (record) => {
      read.push(String(record.value));
      record.done();
      return 'accepted';
    },
    onFatal: (error) => {
      throw error;
    },
  });
  const sendOne = async () => {
    await producer.send([{ topic: 'messages', key: null, value: String(++sent) }]);
    await eventually(() => expect(read).toHaveLength(sent));
  };
  await sendOne();
  const connections = opened.mock.calls.length;
  await eventually(async () => {
    await sendOne();
    expect(logins.mock.calls.length).toBeGreaterThanOrEqual(4 * connections);
  });
  expect(opened.mock.calls).toHaveLength(connections);
  await consumption.stop(1_000);
  await producer.close(1_000);
  await kafka.close();
}, 240_000);

test('a client rereads its certificate and password files at its next connection', async () => {
  const certificate = (notAfter: Date) => {
    const { cert, key } = makeCertificate({
      name: 'renewed',
      issuer: authority,
      notBefore: new Date(0),
      notAfter,
    });
    return {
      KAFKA_SSL_CERT_FILE: file('renewed.pem', cert),
      KAFKA_SSL_KEY_FILE: file('renewed.key', key),
    };
  };
  const password = {
    KAFKA_SASL_PASSWORD: '',
    KAFKA_SASL_PASSWORD_FILE: file('password', 'an older password\n'),
  };
  const client = kafkaAs({
    ...environment('router'),
    ...certificate(new Date(1_000)),
    ...password,
  });
  await expect(connected(client)).rejects.toThrow(/certificate/);
  certificate(new Date(Date.now() + 60_000_000));
  await expect(connected(client)).rejects.toThrow(/authentication failed/i);
  file('password', `${PASSWORD}\n`);
  await connected(client);
});

test('one command creates topics, ACLs and users, with generated passwords in a file', async () => {
  const users = join(dir, 'users');
  const options = ['--acls', '--user-prefix', 'other-', '--scram-users', users];
  const make = startSupervised(
    process.execPath,
    ['dist/bin/main.js', 'service', 'topics', ...options],
    {
      ...environment('admin'),
      KAFKA_SASL_MECHANISM: 'plain',
      WAYPOST_TOPIC_PREFIX: 'other.',
      WAYPOST_PARTITIONS: '1',
      WAYPOST_REPLICATION: '1',
    },
  );
  const lines = /topics\.checked[^]*acls\.created[^]*users\.created/;
  expect([await make.exited, make.output()]).toEqual([0, expect.stringMatching(lines)]);
  const [, password = ''] = /^other-ingest=(.+)$/m.exec(readFileSync(users, 'utf8')) ?? [];
  expect(make.output()).not.toContain(password);
  const login = { KAFKA_SASL_USERNAME: 'other-ingest', KAFKA_SASL_PASSWORD: password };
  await eventually(() => connected(kafkaAs({ ...environment('ingest'), ...login })));
  expect(await written('ingest', 'other.messages', login)).toBe('accepted');
  expect(await written('ingest', 'other.webhooks', login)).toBe('TOPIC_AUTHORIZATION_FAILED');
}, 240_000);

test('without the right to alter the cluster no ACLs and no users are created', async () => {
  const settings = loadSettings(environment('ingest'));
  await expect(createAcls(settings, grantsOf(PREFIX, USER))).rejects.toThrow(
    /log in as a user that may alter the cluster/,
  );
  await expect(createScramUsers(settings, new Map([['x', 'y']]))).rejects.toThrow(
    /log in as a user that may alter/,
  );
});

test.each<[string, Record<string, string>, RegExp]>([
  [
    'a client secret that the token endpoint refuses',
    { KAFKA_SASL_PASSWORD: 'another' },
    /^no token for Kafka from .*: it answered 401 invalid_client$/,
  ],
  [
    'a token without the scope that Kafka requires',
    { KAFKA_SASL_OAUTHBEARER_SCOPE: '' },
    /^Kafka refuses the token: .*insufficient_scope/,
  ],
])('Kafka refuses a login with %s', async (_, wrong, reason) => {
  await expect(
    probeKafka(addressOf({ ...environment('router'), ...bearer(), ...wrong })),
  ).resolves.toEqual({
    state: 'away',
    reason: expect.stringMatching(reason),
  });
});

test.each<[string, Record<string, string>, RegExp]>([
  ['a wrong password', { KAFKA_SASL_PASSWORD: 'another' }, /authentication failed/i],
  ['an unknown authority', { KAFKA_SSL_CA_FILE: '' }, /certificate/],
  [
    'no client certificate',
    { KAFKA_SSL_CERT_FILE: '', KAFKA_SSL_KEY_FILE: '' },
    /bad certificate|certificate required/,
  ],
  ['no TLS', { KAFKA_SSL: '', ...blank(files) }, /Closed connection/],
])('Kafka refuses a connection with %s', async (_, wrong, reason) => {
  await expect(probeKafka(addressOf({ ...environment('router'), ...wrong }))).resolves.toEqual({
    state: 'away',
    reason: expect.stringMatching(reason),
  });
});

/** Starts the services for the first test that needs them. What fails then fails each of these. */
function startAll(): Promise<void> {
  return (started ??= startServices());
}

/** Creates the topics as the user with that right, and starts every service. */
async function startServices(): Promise<void> {
  const topics = startSupervised(process.execPath, ['dist/bin/main.js', 'service', 'topics'], {
    ...shared,
    ...environment('topics'),
    // The job then reads `config`.
    WAYPOST_TOPIC_RETENTION: 'webhooks=7d',
  });
  expect([await topics.exited, topics.output()]).toEqual([
    0,
    expect.stringContaining('topics.created'),
  ]);
  copyHistoryFiles(shared.WAYPOST_DATA_DIR!);
  running.push(
    ...(await Promise.all(
      SERVICES.map((name) => startService(name, { ...shared, ...environment(name) })),
    )),
  );
}

/** Returns the metrics of the topics that a service cannot write. */
async function blocked(service: string): Promise<string> {
  const answer = await fetch(
    `http://127.0.0.1:${shared[`WAYPOST_${service}_HEALTH_PORT`]!}/metrics`,
  );
  const lines = (await answer.text()).split('\n');
  return lines
    .filter((line) => line.startsWith('waypost_producer_blocked{') && !line.endsWith(' 0'))
    .join('\n');
}

/** Returns all values of a topic. */
async function textOf(kafka: Kafka, topic: string): Promise<string> {
  return (await readTopic(kafka, topic)).map(({ value }) => String(value)).join('\n');
}

function environment(name: string): Record<string, string> {
  return {
    KAFKA_BROKERS: broker.address,
    KAFKA_SSL: 'true',
    ...files,
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: USER + name,
    KAFKA_SASL_PASSWORD: PASSWORD,
  };
}

const addressOf = (env: Record<string, string>) => kafkaAddress(loadSettings(env));

function kafkaAs(env: Record<string, string>): KafkaJs {
  const config = addressOf(env) as ConstructorParameters<typeof KafkaJs>[0];
  // Nothing is repeated, and a busy machine may need seconds for TLS.
  const patience = {
    connectionTimeout: 30_000,
    authenticationTimeout: 30_000,
    retry: { retries: 0 },
  };
  return new KafkaJs({ ...config, ...patience, logLevel: logLevel.NOTHING });
}

/** Connects once, as every new connection does. @throws the reason */
async function connected(kafka: KafkaJs): Promise<void> {
  const admin = kafka.admin();
  try {
    await admin.connect();
  } finally {
    await admin.disconnect();
  }
}

const grant = (env: Record<string, string>, grants: Grant[]) =>
  createAcls(loadSettings(env), grants);

/** Returns the settings that log in with a token. */
function bearer(): Record<string, string> {
  const { port } = provider.address() as AddressInfo;
  return {
    KAFKA_SASL_MECHANISM: 'oauthbearer',
    KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: `http://127.0.0.1:${port}/token`,
    KAFKA_SASL_OAUTHBEARER_SCOPE: 'kafka',
  };
}

/**
 * Starts an identity provider whose clients have one secret. Its tokens have no signature, which
 * this broker allows.
 */
async function startProvider(): Promise<Server> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const [id, secret] = Buffer.from(request.headers.authorization!.slice(6), 'base64')
        .toString()
        .split(':');
      if (secret !== PASSWORD) return response.writeHead(401).end('{"error":"invalid_client"}');
      tokens++;
      const now = Math.floor(Date.now() / 1_000);
      const scope = new URLSearchParams(body).get('scope') ?? 'none';
      const parts = [{ alg: 'none' }, { sub: id, iat: now, exp: now + 3_600, scope }];
      const jwt = parts
        .map((part) => `${Buffer.from(JSON.stringify(part)).toString('base64url')}.`)
        .join('');
      return response.end(JSON.stringify({ access_token: jwt, expires_in: 3_600 }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Revokes the right of services to write a topic. */
async function revoke(
  env: Record<string, string>,
  services: string[],
  topic: string,
): Promise<void> {
  const admin = kafkaAs(env).admin();
  await admin.connect();
  const about = { resourceName: topic, resourceType: AclResourceTypes.TOPIC };
  const right = {
    operation: AclOperationTypes.WRITE,
    permissionType: AclPermissionTypes.ALLOW,
    host: '*',
  };
  await admin.deleteAcls({
    filters: services.map((name) => ({
      ...about,
      ...right,
      resourcePatternType: ResourcePatternTypes.LITERAL,
      principal: `User:${USER}${name}`,
    })),
  });
  await admin.disconnect();
}

/** Writes a record as a service. @returns the type of Kafka's error, or "accepted" */
async function written(
  user: string,
  topic: string,
  login: Record<string, string> = {},
): Promise<string> {
  const producer = kafkaAs({ ...environment(user), ...login }).producer({ retry: { retries: 0 } });
  await producer.connect();
  const name = topic.startsWith('other.') ? topic : PREFIX + topic;
  const send = producer.send({ topic: name, messages: [{ value: 'forbidden' }] });
  const answer = await send.then(
    () => 'accepted',
    (error: unknown) => {
      const { type, cause } = error as { type?: string; cause?: { type?: string } };
      return type ?? cause?.type ?? 'an error without a type';
    },
  );
  await producer.disconnect();
  return answer;
}

async function control(method: string, path: string, body?: unknown) {
  const url = `http://127.0.0.1:${shared.WAYPOST_CONTROL_PORT!}/api/v1${path}`;
  const answer = await call(method, url, { authorization: `Bearer ${TOKEN}` }, body);
  if (answer.status >= 400) {
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return answer.body;
}

async function securedProperties(): Promise<Record<string, string>> {
  const ports = await storedPorts(dir);
  const server = makeCertificate({ name: 'a broker', issuer: authority });
  const module = (kind: string) => `org.apache.kafka.common.security.${kind}LoginModule required`;
  return {
    listeners: `SASL_SSL://127.0.0.1:${ports.broker},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `SASL_SSL://127.0.0.1:${ports.broker}`,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL',
    'inter.broker.listener.name': 'SASL_SSL',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    // A client logs in again 10 s before the end of a session.
    'connections.max.reauth.ms': '11000',
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-512,OAUTHBEARER',
    'listener.name.sasl_ssl.plain.sasl.jaas.config':
      `${module('plain.Plain')} username="broker" password="${PASSWORD}" ` +
      `user_broker="${PASSWORD}" user_${USER}admin="${PASSWORD}";`,
    'listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config': `${module('scram.Scram')};`,
    'listener.name.sasl_ssl.oauthbearer.sasl.jaas.config':
      `${module('oauthbearer.OAuthBearer')} unsecuredLoginStringClaim_sub="broker" ` +
      'unsecuredValidatorRequiredScope="kafka";',
    'listener.name.sasl_ssl.ssl.client.auth': 'required',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.key': server.key,
    'ssl.keystore.certificate.chain': server.cert,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.certificates': authority.cert,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // The controller listener has no authentication: it is a single node.
    'super.users': `User:broker;User:${USER}admin;User:ANONYMOUS`,
  };
}

function blank(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(record).map((name) => [name, '']));
}
