import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPostgres } from '../../services/control/history/postgres';
import { defined } from '../../shared/collections/defined';
import { type DeliveryEvent } from '../../shared/model/attempt-events';
import { decodeDelivery, encodeDelivery } from '../../shared/model/delivery';
import { connectKafka } from '../../shared/kafka/client/client';
import {
  type BatchProducer,
  type InRecord,
  type Kafka,
  type OutRecord,
} from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { type PostgresServer, postgresServer } from '../support/database';
import { eventually } from '../support/eventually';
import { aFailure, anEvent } from '../support/events';
import { freePorts } from '../support/free-port';
import { type Service, startService } from '../support/service';
import { type Json } from '../../tools/harness/api';
import { readTopic } from '../support/topics';
import { aDelivery } from '../support/factories';

/** Two control processes with one PostgreSQL server, as in every rolling update. */

const TOKEN = 'integration-admin-token';
const dataDir = mkdtempSync(join(tmpdir(), 'waypost-pair-'));

interface Control extends Service {
  call(method: string, path: string, body?: object): Promise<Json>;
}

let server: PostgresServer;
let env: Record<string, string>;
let kafka: Kafka;
let producer: BatchProducer;
let controls: Control[] = [];
beforeAll(async () => {
  server = await postgresServer();
  env = {
    KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
    WAYPOST_TOPIC_PREFIX: `pair-${randomUUID().slice(0, 8)}.`,
    WAYPOST_PARTITIONS: '4',
    WAYPOST_REPLICATION: '1',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_ADMIN_TOKEN: TOKEN,
    WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
    WAYPOST_DATA_DIR: dataDir,
    WAYPOST_DATABASE_URL: server.url,
    WAYPOST_LOG_LEVEL: 'info',
  };
  kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  controls = [await startControl(), await startControl()];
}, 300_000);
afterAll(async () => {
  await Promise.all(controls.map((control) => control.kill()));
  await producer.close(1_000);
  await kafka.close();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function startControl(): Promise<Control> {
  const [port, healthPort] = await freePorts(2);
  const ports = {
    WAYPOST_CONTROL_PORT: String(port),
    WAYPOST_CONTROL_HEALTH_PORT: String(healthPort),
  };
  const service = await startService('control', { ...env, ...ports });
  const call = async (method: string, path: string, body?: object): Promise<Json> => {
    const answer = await fetch(`http://127.0.0.1:${String(port)}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...defined({ body: body ? JSON.stringify(body) : undefined }),
    });
    const json = (await answer.json()) as Json;
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  };
  return { ...service, call };
}

/** Returns both processes; the first one owns the replays that the tests start. */
const both = () => controls as [Control, Control];
const makeDestination = async (over: object = {}): Promise<string> => {
  const body = { name: 'Hooks', type: 'webhooks', sources: [], enabled: true, ...over };
  return (
    await both()[0].call('POST', '/destinations', {
      ...body,
      webhooks: [{ url: 'https://a.example/' }],
    })
  ).id;
};
const told = (event: DeliveryEvent): OutRecord => ({
  topic: 'attempts',
  key: event.delivery,
  value: JSON.stringify(event),
});

test('a user who was deleted through one process does not return through the other', async () => {
  const [one] = both();
  const source = (await one.call('POST', '/sources', { name: 'Site' })).id as string;
  const events = (user: string, count: number) =>
    Array.from({ length: count }, (_, i) =>
      anEvent({ delivery: `${user}-${i}`, userId: user, source, acceptedAt, at: acceptedAt }),
    );
  const acceptedAt = new Date(Date.now() - 60_000).toISOString();
  const known = async (by: Control, user: string) =>
    ((await by.call('GET', `/deliveries?user=${user}&limit=200`)).data as unknown[]).length;
  const shown = async (by: Control) =>
    ((await by.call('GET', `/events?source=${source}`)).data as { call: Json }[])
      .map(({ call }) => call.userId)
      .sort();
  const call = (userId: string): OutRecord => ({
    topic: 'messages',
    key: userId,
    value: JSON.stringify({ type: 'track', userId }),
    headers: { source },
  });
  await producer.send([call('kim'), call('lee')]);
  for (const control of both()) {
    await eventually(async () => expect(await shown(control)).toEqual(['kim', 'lee']));
  }

  await one.call('POST', '/deletions', { userIds: ['kim'] });
  await producer.send([...events('kim', 100), ...events('lee', 100)].map(told));
  for (const control of both()) {
    await eventually(async () => expect(await shown(control)).toEqual(['lee']));
    await eventually(async () => expect(await known(control, 'lee')).toBe(100), {
      deadlineMs: 60_000,
    });
    expect(await known(control, 'kim')).toBe(0);
  }
}, 240_000);

test('with a blocked history destinations that fail or recover still cause notices', async () => {
  const [one] = both();
  await one.call('PATCH', '/alerts', { failingFor: '10s' });
  const [sick, hopeless] = [
    await makeDestination(),
    await makeDestination({ switchOffAfter: '20s' }),
  ];
  const seconds = (ago: number) => new Date(Date.now() - ago * 1_000).toISOString();
  const fails = (destination: string, ago: number) =>
    told(
      aFailure({
        delivery: randomUUID(),
        destination,
        at: seconds(ago),
        nextAttemptAt: seconds(ago),
      }),
    );
  const notices = async () =>
    ((await one.call('GET', '/notices')).data as { destination: string; kind: string }[])
      .map(({ destination, kind }) => `${destination === sick ? 'sick' : 'hopeless'} ${kind}`)
      .sort();
  const database = await openPostgres(server.url);
  try {
    await database.transaction(async ({ query }) => {
      await query('lock table waypost.deliveries in access exclusive mode');
      await producer.send([
        fails(sick, 15),
        fails(sick, 1),
        fails(hopeless, 30),
        fails(hopeless, 1),
      ]);
      await eventually(
        async () =>
          expect(await notices()).toEqual([
            'hopeless failing',
            'hopeless switched_off',
            'sick failing',
          ]),
        { deadlineMs: 60_000 },
      );
      expect((await one.call('GET', `/destinations/${hopeless}`)).enabled).toBe(false);
      const well = anEvent({ delivery: randomUUID(), destination: sick, at: seconds(0) });
      await producer.send([told(well)]);
      await eventually(async () => expect(await notices()).toContain('sick recovered'), {
        deadlineMs: 60_000,
      });
    });
  } finally {
    await database.close();
  }
}, 240_000);

test('two processes count each event name once, new ones too, and when one is killed', async () => {
  const [one] = both();
  const source = (await one.call('POST', '/sources', { name: 'Names' })).id as string;
  const tracks = (name: string, count: number) =>
    Array.from({ length: count }, (_, i): OutRecord => ({
      topic: 'messages',
      key: `user-${i}`,
      value: JSON.stringify({ type: 'track', event: name, userId: `user-${i}` }),
      headers: { source, event: name },
    }));
  const counts = async (by: Control) =>
    Object.fromEntries(
      ((await by.call('GET', `/sources/${source}/events`)).data as Json[]).map((each) => [
        each.name,
        each.count,
      ]),
    ) as Record<string, number>;
  const expected: Record<string, number> = { steady: 0 };
  for (let round = 1; round <= 5; round++) {
    await producer.send([...tracks('steady', 40), ...tracks(`new ${round}`, 20)]);
    expected.steady! += 40;
    expected[`new ${round}`] = 20;
    if (round === 3) {
      await both()[1].kill();
      controls = [one, await startControl()];
    }
    for (const control of both()) {
      await eventually(async () => expect(await counts(control)).toEqual(expected), {
        deadlineMs: 60_000,
      });
    }
  }
}, 240_000);

test('a locked table of event names holds up neither the history nor alerts', async () => {
  const [one] = both();
  await one.call('PATCH', '/alerts', { failingFor: '10s' });
  const sick = await makeDestination();
  const seconds = (ago: number) => new Date(Date.now() - ago * 1_000).toISOString();
  const fails = (ago: number) =>
    told(
      aFailure({
        delivery: randomUUID(),
        destination: sick,
        acceptedAt: seconds(60),
        at: seconds(ago),
        nextAttemptAt: seconds(ago),
      }),
    );
  const rows = async (path: string) =>
    ((await one.call('GET', `${path}?destination=${sick}`)).data as Json[]).length;
  const database = await openPostgres(server.url);
  try {
    await database.transaction(async ({ query }) => {
      await query('lock table waypost.seen_events in access exclusive mode');
      await producer.send([
        { topic: 'messages', key: 'k', value: '{}', headers: { source: 'src_1', event: 'e' } },
        fails(15),
        fails(1),
      ]);
      await eventually(
        async () => expect([await rows('/deliveries'), await rows('/notices')]).toEqual([2, 1]),
        { deadlineMs: 60_000 },
      );
    });
  } finally {
    await database.close();
  }
}, 240_000);

describe('a replay of 4,000', () => {
  const COUNT = 4_000;
  async function bury(): Promise<string> {
    const destination = await makeDestination();
    const prefix = randomUUID().slice(0, 8);
    const letters = Array.from({ length: COUNT }, (_, i): OutRecord => {
      const ended = { acceptedAt: 1, expiresAt: 1, attempt: 1 };
      const delivery = aDelivery({ id: `${prefix}-${i}`, destinationId: destination, ...ended });
      return {
        topic: 'webhooks.dead',
        key: `${destination}:${i}`,
        value: '{}',
        headers: encodeDelivery(delivery),
      };
    });
    await producer.send(letters);
    return destination;
  }
  /** Returns how often each delivery of a destination was sent again. */
  async function sent(destination: string): Promise<Map<string, number>> {
    const times = new Map<string, number>();
    const count = ({ headers }: InRecord) => {
      const decoded = decodeDelivery(headers);
      if (decoded.kind !== 'delivery' || decoded.delivery.destinationId !== destination) return;
      times.set(decoded.delivery.id, (times.get(decoded.delivery.id) ?? 0) + 1);
    };
    (await readTopic(kafka, 'webhooks.due')).forEach(count);
    return times;
  }
  const most = (times: Map<string, number>) => Math.max(...times.values());
  // Slow enough to act while the replay runs, on a busy machine too.
  const begin = async (by: Control, destination: string) =>
    (await by.call('POST', '/replays', { destination, maxPerSecond: 600 })).id as string;
  const reaches = (by: Control, id: string, expected: (job: Json) => void) =>
    eventually(
      async () => {
        const job = await by.call('GET', `/replays/${id}`);
        expected(job);
        return job;
      },
      { deadlineMs: 120_000 },
    );
  const hasSentSome = (job: Json) => {
    expect(job.pass).toBe('running');
    expect(job.progress).toBeGreaterThanOrEqual(0.2);
  };
  const isDone = (job: Json) => expect(job.status).toBe('done');

  test('stops if the other process cancels it, and sends each delivery at most once', async () => {
    const [owner, other] = both();
    const destination = await bury();
    const id = await begin(owner, destination);
    await reaches(other, id, hasSentSome);
    const cancelled = await other.call('POST', `/replays/${id}/cancel`);
    expect(cancelled).toMatchObject({ status: 'cancelled' });
    const times = await sent(destination);
    expect([times.size, most(times)]).toEqual([cancelled.asked, 1]);
    expect(times.size).toBeLessThan(COUNT);
    expect((await owner.call('GET', `/replays/${id}`)).status).toBe('cancelled');
    expect((await sent(destination)).size).toBe(times.size);
    await other.call('POST', `/replays/${id}/resume`);
    expect(await reaches(owner, id, isDone)).toMatchObject({ asked: COUNT });
    const all = await sent(destination);
    expect([all.size, most(all)]).toEqual([COUNT, 1]);
  }, 300_000);

  test('continues in the other process if its own freezes, which later sends nothing', async () => {
    const [owner, other] = both();
    const destination = await bury();
    const id = await begin(owner, destination);
    await reaches(other, id, hasSentSome);
    owner.child.kill('SIGSTOP');
    try {
      await reaches(other, id, isDone);
    } finally {
      owner.child.kill('SIGCONT');
    }
    await eventually(() => expect(owner.output()).toContain('replay.lost'));
    expect(await other.call('GET', `/replays/${id}`)).toMatchObject({
      status: 'done',
      asked: COUNT,
    });
    const times = await sent(destination);
    expect([times.size, most(times)]).toEqual([COUNT, 1]);
  }, 300_000);

  // The last test: it leaves one process.
  test('continues in the other process after a kill, and sends each delivery once', async () => {
    const [owner, other] = both();
    const destination = await bury();
    const id = await begin(owner, destination);
    await reaches(other, id, hasSentSome);
    await owner.kill();
    expect(await reaches(other, id, isDone)).toMatchObject({ asked: COUNT });
    const times = await sent(destination);
    expect([times.size, most(times)]).toEqual([COUNT, 1]);
  }, 300_000);
});
