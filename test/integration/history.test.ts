import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RESPONSES } from '../../shared/api/operations';
import { type RunningControl, startControl } from '../support/start-control';
import { type DeliveryEvent } from '../../shared/model/attempt-events';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka } from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { type PostgresServer, postgresServer } from '../support/database';
import { anEvent } from '../support/events';
import { eventually } from '../support/eventually';
import { copyHistoryFiles } from '../support/history-files';
import { type Json } from '../../tools/harness/api';

/** Control's history on a real Kafka: reading events, catching up, and database outages. */

const TOKEN = 'integration-admin-token';
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};

let server: PostgresServer;
const dirs: string[] = [];
beforeAll(async () => {
  server = await postgresServer();
});
afterAll(async () => {
  await server.stop();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** Returns the settings of a new system. */
function settingsOf(more: Record<string, string>) {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-history-'));
  dirs.push(dir);
  return loadSettings({
    KAFKA_BROKERS: process.env.KAFKA_BROKERS,
    WAYPOST_TOPIC_PREFIX: `history-${randomUUID().slice(0, 8)}.`,
    WAYPOST_PARTITIONS: '2',
    WAYPOST_REPLICATION: '1',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_CONTROL_PORT: '0',
    WAYPOST_CONTROL_HEALTH_PORT: '0',
    WAYPOST_ADMIN_TOKEN: TOKEN,
    WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
    WAYPOST_DATA_DIR: dir,
    ...more,
  });
}

async function call(control: RunningControl, path: string, init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answer = await fetch(`http://127.0.0.1:${String(control.port)}/api/v1${path}`, {
    ...init,
    headers,
  });
  return { status: answer.status, body: (await answer.json()) as Json };
}

async function readyz(control: RunningControl) {
  const answer = await fetch(`http://127.0.0.1:${String(control.healthPort)}/readyz`);
  return { status: answer.status, body: (await answer.json()) as Json };
}

describe.each(['PGlite', 'PostgreSQL'])('%s', (name) => {
  const settings = () => settingsOf(name === 'PGlite' ? {} : { WAYPOST_DATABASE_URL: server.url });
  let own: ReturnType<typeof settings>;
  let control: RunningControl;
  let kafka: Kafka;
  let producer: BatchProducer;
  beforeAll(async () => {
    own = settings();
    copyHistoryFiles(own.WAYPOST_DATA_DIR);
    control = await startControl(own, log, onFatal);
    kafka = await connectKafka(own, { clientId: 'test', log });
    producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  }, 240_000);
  afterAll(async () => {
    await producer.close(1_000);
    await kafka.close();
    await control.stop(5_000);
  });
  const give = (...events: DeliveryEvent[]) =>
    producer.send(
      events.map((event) => ({
        topic: 'attempts',
        key: event.delivery,
        value: JSON.stringify(event),
      })),
    );
  const some = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const now = Date.now();
      const times = {
        acceptedAt: new Date(now - 1_000).toISOString(),
        at: new Date(now).toISOString(),
      };
      return anEvent({ delivery: `${prefix}${String(i)}`, userId: prefix, ...times });
    });
  const known = async (user: string) => {
    const { status, body } = await call(control, `/deliveries?user=${user}&limit=200`);
    expect(status).toBe(200);
    return (body.data as unknown[]).length;
  };

  test('shows each delivery of the topic once, though its events are repeated', async () => {
    const events = some('first', 150);
    await give(...events, ...events);
    await eventually(async () => expect(await known('first')).toBe(150), { deadlineMs: 60_000 });
  });

  test('shows the actor and fields of configuration changes', async () => {
    const made = (await call(control, '/sources', { method: 'POST', body: '{"name":"Site"}' }))
      .body;
    await call(control, `/sources/${made.id}/rotate-key`, { method: 'POST', body: '{}' });
    const { data } = await eventually(async () => {
      const { body } = await call(control, `/audit?entry=${made.id}`);
      expect(body.data).toHaveLength(2);
      return body;
    });
    expect(data).toMatchObject([
      { action: 'changed', version: 2, changes: [{ field: 'writeKeys', from: '***', to: '***' }] },
      {
        action: 'created',
        version: 1,
        kind: 'source',
        name: 'Site',
        by: { id: 'admin', role: 'admin' },
      },
    ]);
    expect(JSON.stringify(data)).not.toContain(made.writeKey);
    expect(() => RESPONSES.Audit.parse({ data, next: null })).not.toThrow();
  });

  test('catches up with events that were written while control was down', async () => {
    await control.stop(5_000);
    await give(...some('second', 150));
    control = await startControl(own, log, onFatal);
    await eventually(async () => expect(await known('second')).toBe(150), { deadlineMs: 60_000 });
    expect(await known('first')).toBe(150);
  });
});

test('control serves config without its database, reports the outage, and recovers', async () => {
  const control = await startControl(
    settingsOf({ WAYPOST_DATABASE_URL: server.url }),
    log,
    onFatal,
  );
  try {
    expect((await call(control, '/deliveries')).status).toBe(200);
    await server.kill();
    expect((await call(control, '/deliveries')).body).toMatchObject({
      status: 503,
      detail: expect.stringContaining('history'),
    });
    const made = await call(control, '/sources', { method: 'POST', body: '{"name":"Site"}' });
    expect(made.status).toBe(201);
    await server.start();
    await eventually(async () => expect((await call(control, '/deliveries')).status).toBe(200));
  } finally {
    await control.stop(5_000);
  }
});

test('control starts without its database and opens it later', async () => {
  await server.kill();
  const control = await startControl(
    settingsOf({ WAYPOST_DATABASE_URL: server.url }),
    log,
    onFatal,
  );
  try {
    expect(await readyz(control)).toMatchObject({
      status: 200,
      body: { degraded: [expect.stringContaining('history')] },
    });
    expect((await call(control, '/overview')).status).toBe(503);
    expect((await call(control, '/sources')).status).toBe(200);
    await server.start();
    await eventually(async () => expect((await call(control, '/overview')).status).toBe(200), {
      deadlineMs: 60_000,
    });
    await eventually(async () =>
      expect((await readyz(control)).body).toEqual({
        ok: true,
        reasons: [],
        configAgeMs: expect.any(Number),
      }),
    );
  } finally {
    await control.stop(5_000);
  }
});
