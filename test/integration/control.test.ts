import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { RESPONSES } from '../../shared/api/operations';
import { type RunningControl, startControl } from '../support/start-control';
import { openConfig } from '../../shared/config/reader';
import { createEncryptor } from '../../shared/config/encryption';
import { configKey, type Kind } from '../../shared/model/config';
import { FORMAT } from '../../shared/model/record-format';
import { CONFIG } from '../../shared/kafka/topics';
import { mapSecrets } from '../../shared/model/secret-fields';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka } from '../../shared/kafka/port';
import { loadSettings, requireSecretKeys } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { copyHistoryFiles } from '../support/history-files';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startSupervised, type Supervised } from '../support/supervised';

/** Control on a real Kafka through its HTTP API, and the process when it cannot start. */

const TOKEN = 'integration-admin-token';
const dataDir = mkdtempSync(join(tmpdir(), 'waypost-control-'));
const env = {
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: `control-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '2',
  WAYPOST_REPLICATION: '1',
  WAYPOST_DATA_DIR: dataDir,
  WAYPOST_HOST: '127.0.0.1',
  WAYPOST_CONTROL_PORT: '0',
  WAYPOST_CONTROL_HEALTH_PORT: '0',
  WAYPOST_CONTROL_CONNECTIONS: '60',
  WAYPOST_ADMIN_TOKEN: TOKEN,
  WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
};
const settings = loadSettings(env);
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};

let control: RunningControl;
let kafka: Kafka;
beforeAll(async () => {
  copyHistoryFiles(dataDir);
  control = await startControl(settings, log, onFatal);
  kafka = await connectKafka(settings, { clientId: 'test', log });
});
afterAll(async () => {
  await kafka.close();
  await control.stop(5_000);
  rmSync(dataDir, { recursive: true, force: true });
});

const call = (method: 'get' | 'post' | 'patch' | 'delete', path: string) => {
  const agent = supertest(`http://127.0.0.1:${String(control.port)}`);
  return agent[method](`/api/v1${path}`).set('Authorization', `Bearer ${TOKEN}`);
};
const aDestination = (source: string) => ({
  name: 'Hooks',
  type: 'webhooks',
  enabled: true,
  sources: [source],
  sharedSecret: 'shared secret',
  webhooks: [{ url: 'https://example.com/in', headers: { 'X-Key': 'value' } }],
});

test('control reports ready', async () => {
  const answer = await fetch(`http://127.0.0.1:${String(control.healthPort)}/readyz`);
  expect(answer.status).toBe(200);
});

test.each([
  ['control', () => control.port, 60],
  ['its health port', () => control.healthPort, 64],
])('%s bounds its connections', async (_, port, limit) => {
  const sockets: Socket[] = [];
  /**
   * Opens a connection of an address that no other test has. Resolves with whether it is served.
   */
  const isServed = async () => {
    const socket = connect({ port: port(), host: '127.0.0.1', localAddress: '127.0.0.9' });
    sockets.push(socket);
    socket.on('error', () => undefined).write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    return Promise.race([
      once(socket, 'data').then(() => true),
      once(socket, 'close').then(() => false),
    ]);
  };
  let served = 0;
  for (let i = 0; i < limit; i++) if (await isServed()) served++;
  for (const socket of sockets) socket.destroy();
  // An address has two thirds of what others leave.
  expect(served).toBeLessThanOrEqual((limit * 2) / 3);
  expect(served).toBeGreaterThan(limit / 3);
});

test('another service knows a new source in a second, and decrypts a new destination', async () => {
  const config = await openConfig(kafka, { name: 'test', log, onFatal });
  try {
    const source = (await call('post', '/sources').send({ name: 'Site' })).body;
    const made = await call('post', '/destinations').send(aDestination(source.id));
    expect(made.status).toBe(201);
    const entry = await eventually(() => {
      expect(config.sourceByWriteKey(source.writeKey, Date.now())?.data.id).toBe(source.id);
      const found = config.destinationsOf(source.id)[0];
      expect(found).toBeDefined();
      return found!;
    });
    const encryptor = createEncryptor(requireSecretKeys(settings));
    const opened = mapSecrets(
      entry.data,
      (sealed, field) => encryptor.decrypt(sealed, field).text!,
    );
    expect(opened.webhooks[0]).toMatchObject({
      url: 'https://example.com/in',
      headers: { 'X-Key': 'value' },
    });
    expect(opened.secrets!.current).toBe('shared secret');

    expect((await call('delete', `/destinations/${made.body.id}`)).status).toBe(204);
    await eventually(() => expect(config.destinationsOf(source.id)).toEqual([]));

    // The fastest of several rounds counts: a busy machine delays some.
    const known: number[] = [];
    for (let i = 0; i < 5; i++) {
      const { writeKey } = (await call('post', '/sources').send({ name: `Site ${String(i)}` }))
        .body;
      const madeAt = performance.now();
      await eventually(() => expect(config.sourceByWriteKey(writeKey, Date.now())).toBeDefined());
      known.push(performance.now() - madeAt);
    }
    expect(Math.min(...known)).toBeLessThan(1_000);
  } finally {
    await config.stop();
  }
});

test('control answers a change before the next poll, though it reads its record back', async () => {
  const { id } = (await call('post', '/sources').send({ name: 'Fast' })).body;
  const rounds = 20;
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const began = performance.now();
    const answer = await call('patch', `/sources/${id}`)
      .set('If-Match', `"${String(i + 1)}"`)
      .send({ name: `n${String(i)}` });
    expect(answer.status).toBe(200);
    times.push(performance.now() - began);
  }
  // The faster half of them: a busy machine delays some, and a wait for the next poll delays all.
  expect(times.sort((a, b) => a - b)[rounds / 2]).toBeLessThan(250);
});

/** Appends an entry as somebody does who may write the topic, and has no key. */
async function appendAsStranger(
  kind: Kind,
  data: { id: string; [field: string]: unknown },
): Promise<void> {
  const at = new Date().toISOString();
  const whole = { ...data, createdAt: at, updatedAt: at };
  const record = { format: FORMAT, kind, id: data.id, version: 1, replaces: 0, at, data: whole };
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  const key = configKey(kind, data.id);
  await producer.send([{ topic: CONFIG, key, value: JSON.stringify(record) }]);
  await producer.close(1_000);
}

/** Returns how many entries a process refuses, as its metrics say. */
async function refusedEntries(healthPort: number): Promise<number> {
  const metrics = await fetch(`http://127.0.0.1:${String(healthPort)}/metrics`);
  const [, count] = /^waypost_config_unreadable(?:\{[^}]*\})? (\d+)$/m.exec(await metrics.text())!;
  return Number(count);
}

test('a token that somebody appends to config, who has no key, gives no access', async () => {
  const mine = 'wpt_attacker_chosen_token_0123456789';
  const hash = createHash('sha256').update(mine).digest('base64url');
  await appendAsStranger('token', { id: 'tok_evil', name: 'evil', role: 'admin', hash });
  // Control reads its own records after this one.
  expect((await call('post', '/sources').send({ name: 'Later' })).status).toBe(201);
  const asAttacker = await call('get', '/tokens').set('Authorization', `Bearer ${mine}`);
  expect(asAttacker.status).toBe(401);
  expect((await call('get', '/tokens')).body.data).toEqual([]);
  expect(await refusedEntries(control.healthPort)).toBe(1);
});

test('control has all entries after a restart', async () => {
  const { id, writeKey } = (await call('post', '/sources').send({ name: 'Kept' })).body;
  await control.stop(5_000);
  control = await startControl(settings, log, onFatal);
  expect((await call('get', `/sources/${id}`)).body).toMatchObject({ name: 'Kept', writeKey });
});

describe('a test send', () => {
  let delivery: Supervised;
  let healthPort: number;
  let sink: Sink;
  beforeAll(async () => {
    const [port] = await freePorts(1);
    healthPort = port!;
    sink = await startSink();
    sink
      .on('/ok', { status: 204 })
      .on('/late', { delayMs: 200 })
      .on('/gone', { status: 410, body: 'gone' });
    delivery = startSupervised(
      process.execPath,
      ['--enable-source-maps', 'dist/services/delivery/main.js'],
      {
        ...env,
        WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8',
        WAYPOST_DELIVERY_HEALTH_PORT: String(healthPort),
      },
    );
    await eventually(
      async () => {
        const answer = await fetch(`http://127.0.0.1:${String(healthPort)}/readyz`);
        if (!answer.ok) throw new Error(delivery.output());
      },
      { deadlineMs: 120_000 },
    );
  });
  afterAll(async () => {
    await delivery.end('SIGTERM');
    await sink.close();
  });
  test('delivery refuses a destination that somebody appends, who has no key', async () => {
    expect(await refusedEntries(healthPort)).toBe(0);
    const fields = { name: 'evil', type: 'webhooks', enabled: true, paused: false };
    await appendAsStranger('destination', { id: 'dst_evil', ...fields, sources: [], webhooks: [] });
    await eventually(async () => expect(await refusedEntries(healthPort)).toBe(1));
  });

  const make = async (paths: string[], over: object = {}) => {
    const webhooks = paths.map((path) => ({ url: sink.url(path), headers: { 'X-Key': 'value' } }));
    const body = { ...aDestination('none'), sources: [], webhooks, ...over };
    return (await call('post', '/destinations').send(body)).body as {
      id: string;
      webhooks: { id: string }[];
    };
  };

  test('reports every URL, though the first 2xx settles it, also if switched off', async () => {
    const { id } = await make(['/ok', '/late', '/gone'], { enabled: false });
    const { body } = await call('post', `/destinations/${id}/test`);
    expect(body.attempt.urls.map((url: { status: number }) => url.status).sort()).toEqual([
      200, 204, 410,
    ]);
    expect(body.status).toBe('delivered');
    expect(() => RESPONSES.Test.parse(body)).not.toThrow();
    const [request] = sink.received('/ok');
    expect(request!.headers).toMatchObject({ 'x-key': 'value', 'webhook-id': body.delivery });
    expect(request!.headers['x-signature']).toBe(
      createHmac('sha1', 'shared secret').update(request!.body).digest('hex'),
    );
  });
});

describe('the process', () => {
  /** Runs the built service until it exits. */
  const start = (over: Record<string, string>) =>
    new Promise<{ code: unknown; stderr: string }>((resolve) => {
      const given = { PATH: process.env.PATH, ...env, ...over };
      execFile(
        process.execPath,
        ['dist/services/control/main.js'],
        { env: given },
        (error, _stdout, stderr) => resolve({ code: error?.code, stderr }),
      );
    });

  test.each([
    ['no admin token', { WAYPOST_ADMIN_TOKEN: '' }, /WAYPOST_ADMIN_TOKEN is not set/],
    ['no secret key', { WAYPOST_SECRET_KEY: '' }, /WAYPOST_SECRET_KEY is not set/],
    ['a key that is too short', { WAYPOST_SECRET_KEY: 'c2hvcnQ=' }, /WAYPOST_SECRET_KEY: must be/],
    ['a port in use', { WAYPOST_CONTROL_PORT: 'taken' }, /port \d+ on 127\.0\.0\.1 is in use/],
  ])('exits with one sentence about %s', async (_, over: Record<string, string>, sentence) => {
    const taken = { WAYPOST_CONTROL_PORT: String(control.port) };
    const { code, stderr } = await start(over.WAYPOST_CONTROL_PORT ? taken : over);
    expect(code).toBe(1);
    expect(stderr).toMatch(sentence);
    expect(stderr).not.toMatch(/\n\s+at |c2hvcnQ=/);
  });
});
