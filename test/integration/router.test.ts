import { randomUUID } from 'node:crypto';
import {
  type ConfigRecord,
  configKey,
  type Destination,
  type Source,
} from '../../shared/model/config';
import {
  decodeDelivery,
  deliveryId,
  deliveryKey,
  type Delivery,
} from '../../shared/model/delivery';
import { connectKafka } from '../../shared/kafka/client/client';
import {
  type BatchProducer,
  type InRecord,
  type Kafka,
  type OutRecord,
  type Tail,
} from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually, Final } from '../support/eventually';
import { aSource } from '../support/fakes';
import { freePorts } from '../support/free-port';
import { startSupervised, type Supervised } from '../support/supervised';
import { aDestination } from '../support/factories';
import { FORMAT, FORMAT_HEADER } from '../../shared/model/record-format';

/** The router as a built process, with a real Kafka. */

const AT = '2026-11-21T08:00:00.000Z';
interface Routed {
  delivery: Delivery;
  key: string;
  body: string;
}

interface Setup {
  router: Supervised;
  restart(): Promise<void>;
  /** Starts another router in the group, and waits until it is ready. */
  startSecond(): Promise<Supervised>;
  append(records: OutRecord[]): Promise<void>;
  /** Returns the text of `/metrics`. */
  metrics(): Promise<string>;
  /** the records of `webhooks` */
  routed: Routed[];
  /** the records of `messages.rejected` */
  rejected: Record<string, unknown>[];
  close(): Promise<void>;
}

const opened: Setup[] = [];
afterEach(() => Promise.all(opened.splice(0).map((setup) => setup.close())));

async function setUp(...config: ConfigRecord[]): Promise<Setup> {
  const [healthPort, secondPort] = await freePorts(2);
  const env = {
    KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
    WAYPOST_TOPIC_PREFIX: `router-${randomUUID().slice(0, 8)}.`,
    WAYPOST_PARTITIONS: '3',
    WAYPOST_REPLICATION: '1',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_RETRY_WINDOW: '1h',
    WAYPOST_ROUTER_HEALTH_PORT: String(healthPort),
  };
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 10_000 });
  await producer.send(config.map(configOut));
  const { routed, rejected, tails } = await follow(kafka);
  const start = async (port = healthPort) => {
    const started = startSupervised(
      process.execPath,
      ['--enable-source-maps', 'dist/services/router/main.js'],
      { ...env, WAYPOST_ROUTER_HEALTH_PORT: String(port) },
    );
    await eventually(
      async () => {
        if ((started.child.exitCode ?? started.child.signalCode) !== null) {
          throw new Final(started.output());
        }
        const answer = await fetch(`http://127.0.0.1:${String(port)}/readyz`);
        if (!answer.ok) throw new Error(`the router is not ready: ${started.output()}`);
      },
      { deadlineMs: 120_000 },
    );
    return started;
  };
  let second: Supervised | undefined;
  const setup: Setup = {
    router: await start(),
    async restart() {
      await this.router.end('SIGKILL');
      this.router = await start();
    },
    async startSecond() {
      second = await start(secondPort);
      return second;
    },
    append: (records) => producer.send(records),
    metrics: async () => (await fetch(`http://127.0.0.1:${String(healthPort)}/metrics`)).text(),
    routed,
    rejected,
    async close() {
      await Promise.all([this.router.end('SIGKILL'), second?.end('SIGKILL')]);
      await shutDown(kafka, producer, tails);
    },
  };
  opened.push(setup);
  return setup;
}

async function follow(kafka: Kafka) {
  const routed: Routed[] = [];
  const rejected: Record<string, unknown>[] = [];
  const onFatal = (error: unknown) => {
    throw error;
  };
  const tail = (topic: string, onRecord: (record: InRecord) => void) =>
    kafka.tail({ name: 'test', topic, from: 'beginning', onRecord, onFatal });
  const tails = await Promise.all([
    tail('webhooks', (record) => {
      const decoded = decodeDelivery(record.headers);
      if (decoded.kind !== 'delivery') throw new Error(decoded.kind);
      routed.push({
        delivery: decoded.delivery,
        key: String(record.key),
        body: String(record.value),
      });
    }),
    tail('messages.rejected', (record) => {
      rejected.push(JSON.parse(String(record.value)) as Record<string, unknown>);
    }),
  ]);
  return { routed, rejected, tails };
}

async function shutDown(kafka: Kafka, producer: BatchProducer, tails: Tail[]): Promise<void> {
  await producer.close(1_000);
  await Promise.all(tails.map((tail) => tail.stop()));
  await kafka.close();
}

const sourceRecord = (data: Source): ConfigRecord<'source'> => ({
  format: FORMAT,
  kind: 'source',
  id: data.id,
  version: 1,
  replaces: 0,
  at: AT,
  data,
});
const destinationRecord = (data: Destination): ConfigRecord<'destination'> => ({
  format: FORMAT,
  kind: 'destination',
  id: data.id,
  version: 1,
  replaces: 0,
  at: AT,
  data,
});
const configOut = (record: ConfigRecord): OutRecord => ({
  topic: 'config',
  key: configKey(record.kind, record.id),
  value: JSON.stringify(record),
});

const ACCEPTED_MS = Date.now();
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
/** Returns a track call as ingest writes it. */
function aMessage(
  messageId: string,
  over: { sourceId?: string; headers?: Record<string, string>; value?: string } = {},
) {
  const source = over.sourceId ?? 'src_1';
  const message = {
    type: 'track',
    messageId,
    event: 'e',
    userId: 'u1',
    timestamp: AT,
    receivedAt: AT,
  };
  return {
    topic: 'messages',
    key: `${source}:u1`,
    value: over.value ?? JSON.stringify(message),
    headers: {
      format: FORMAT_HEADER,
      source,
      message: messageId,
      'accepted-at': String(ACCEPTED_MS),
      traceparent: TRACEPARENT,
      ...over.headers,
    },
  };
}

const standard = () => [sourceRecord(aSource()), destinationRecord(aDestination())];
const ids = (routed: Routed[]) => routed.map(({ delivery }) => delivery.messageId);

test('a message becomes one delivery for each destination that selects it', async () => {
  const setup = await setUp(
    ...standard(),
    destinationRecord(aDestination({ id: 'dst_2', shards: 1 })),
    destinationRecord(aDestination({ id: 'dst_off', enabled: false })),
    destinationRecord(aDestination({ id: 'dst_other', sources: ['src_2'] })),
  );
  await setup.append([aMessage('m1')]);
  await eventually(() => expect(setup.routed).toHaveLength(2));
  const first = setup.routed.find(({ delivery }) => delivery.destinationId === 'dst_1')!;
  expect(first).toEqual({
    key: deliveryKey('dst_1', 'u1', 4),
    body: `{"version":1,"type":"track","userId":"u1","timestamp":"${AT}","event":"e","messageId":"m1"}`,
    delivery: {
      event: 'e',
      id: deliveryId('src_1', 'm1', 'dst_1'),
      messageId: 'm1',
      sourceId: 'src_1',
      destinationId: 'dst_1',
      destinationVersion: 1,
      type: 'track',
      userId: 'u1',
      acceptedAt: ACCEPTED_MS,
      expiresAt: ACCEPTED_MS + 3_600_000,
      attempt: 0,
      hop: 0,
      replay: 0,
      excludedUrls: [],
      traceparent: TRACEPARENT,
    },
  });
  expect(setup.routed.find(({ delivery }) => delivery.destinationId === 'dst_2')).toMatchObject({
    key: 'dst_2:0',
  });
});

test('the router drops repeats and moves unreadable messages to messages.rejected', async () => {
  const setup = await setUp(...standard());
  await setup.append([aMessage('m1')]);
  await eventually(() => expect(setup.routed).toHaveLength(1));
  await setup.append([
    aMessage('m1'),
    aMessage('bad', { value: '{"type":' }),
    aMessage('worse', { headers: { format: '' } }),
    aMessage('m2'),
    aMessage('m1'),
    aMessage('m3'),
  ]);
  await eventually(() => expect(setup.routed).toHaveLength(3));
  await eventually(() => expect(setup.rejected).toHaveLength(2));
  expect(ids(setup.routed)).toEqual(['m1', 'm2', 'm3']);
  expect(setup.rejected).toMatchObject([
    { source: 'src_1', code: 'unreadable_message', call: '{"type":' },
    { source: 'src_1', code: 'unreadable_message' },
  ]);
});

test('no message of a new source for a new destination is lost', async () => {
  const setup = await setUp();
  const made = [
    sourceRecord(aSource({ id: 'src_9' })),
    destinationRecord(aDestination({ sources: ['src_9'] })),
  ];
  await setup.append(made.map(configOut));
  await setup.append([
    aMessage('m1', { sourceId: 'src_9' }),
    aMessage('lost', { sourceId: 'src_gone' }),
  ]);
  await eventually(() => expect(ids(setup.routed)).toEqual(['m1']));
  // Messages of a deleted source delay no others.
  await setup.append([
    aMessage('also lost', { sourceId: 'src_gone' }),
    aMessage('m2', { sourceId: 'src_9' }),
  ]);
  await eventually(() => expect(ids(setup.routed)).toEqual(['m1', 'm2']));
});

test('the router drops a copy of a message that its predecessor has routed', async () => {
  const setup = await setUp(...standard());
  await setup.append([aMessage('m1'), aMessage('m2')]);
  await eventually(() => expect(setup.routed).toHaveLength(2));
  // A graceful stop, so that the deduplication is tested and not the repeats of a kill.
  await setup.router.end('SIGTERM');
  await setup.restart();
  // All have one key and so one partition: when m3 is routed, the copies before it are done.
  await setup.append([aMessage('m1'), aMessage('m2'), aMessage('m3')]);
  await eventually(() => expect(ids(setup.routed)).toContain('m3'));
  expect(ids(setup.routed)).toEqual(['m1', 'm2', 'm3']);
});

test('a router drops copies in the partitions that it takes over from another', async () => {
  const setup = await setUp(...standard());
  await setup.startSecond();
  const names = Array.from({ length: 60 }, (_, i) => `m${String(i)}`);
  const calls = names.map((id) => ({ ...aMessage(id), key: `src_1:${id}` }));
  const others = (prefix: string) =>
    names.map((id) => ({ ...aMessage(`${prefix}${id}`), key: `src_1:${id}` }));
  await setup.append(calls);
  await eventually(() => expect(setup.routed).toHaveLength(60));
  // Both have routed some of them, and the second owns all partitions now.
  await setup.router.end('SIGTERM');
  await setup.append([...calls, ...others('after ')]);
  await eventually(() => expect(new Set(ids(setup.routed)).size).toBe(120), {
    deadlineMs: 60_000,
  });
  // Records of one partition are routed in order: the copies came before.
  expect(setup.routed).toHaveLength(120);
});

test('a router killed under load routes every message after its restart', async () => {
  const setup = await setUp(...standard());
  const all = Array.from({ length: 20_000 }, (_, i) => `m${String(i)}`);
  const records = all.map((id, i) => ({ ...aMessage(id), key: `src_1:u${String(i)}` }));
  const appended = setup.append(records.slice(0, 10_000));
  await eventually(() => expect(setup.routed.length).toBeGreaterThan(100), { everyMs: 5 });
  await setup.restart();
  await appended;
  await setup.append(records.slice(10_000));
  await eventually(() => expect(new Set(ids(setup.routed)).size).toBe(all.length), {
    deadlineMs: 90_000,
  });
  expect(setup.rejected).toEqual([]);
}, 300_000);

test('a graceful stop of the router repeats no delivery', async () => {
  const setup = await setUp(...standard());
  const all = Array.from({ length: 5_000 }, (_, i) => `m${String(i)}`);
  const appended = setup.append(
    all.map((id, i) => ({ ...aMessage(id), key: `src_1:u${String(i)}` })),
  );
  await eventually(() => expect(setup.routed.length).toBeGreaterThan(100), { everyMs: 5 });
  await setup.router.end('SIGTERM');
  await setup.restart();
  await appended;
  await eventually(() => expect(new Set(ids(setup.routed)).size).toBe(all.length), {
    deadlineMs: 90_000,
  });
  expect(setup.routed).toHaveLength(all.length);
}, 300_000);

test('messages of an unreadable source wait for it in Kafka, while others pass', async () => {
  const setup = await setUp(
    ...standard(),
    destinationRecord(aDestination({ id: 'dst_2', sources: ['src_2'] })),
  );
  await setup.append([
    {
      topic: 'config',
      key: configKey('source', 'src_2'),
      value: `{"format":${FORMAT},"of a newer":"kind"}`,
    },
  ]);
  const calls = Array.from({ length: 21_000 }, (_, i) => ({
    ...aMessage(`m${String(i)}`, { sourceId: 'src_2' }),
    key: `src_2:u${String(i)}`,
  }));
  await setup.append(calls);
  const others = Array.from({ length: 30 }, (_, i) => ({
    ...aMessage(`o${String(i)}`),
    key: `src_1:u${String(i)}`,
  }));
  await setup.append(others);
  await eventually(() => expect(setup.routed).toHaveLength(others.length), { deadlineMs: 90_000 });
  const held = (count: number) =>
    new RegExp(`^waypost_messages_held\\{.*where="kafka".*\\} ${String(count)}$`, 'm');
  await eventually(async () => expect(await setup.metrics()).toMatch(held(calls.length)));
  const deferred = /"source":"src_2","reason":"source_unreadable".*messages\.deferred/;
  await eventually(() => expect(setup.router.output()).toMatch(deferred));

  await setup.append([configOut(sourceRecord(aSource({ id: 'src_2' })))]);
  const all = calls.length + others.length;
  await eventually(() => expect(new Set(ids(setup.routed)).size).toBe(all), { deadlineMs: 90_000 });
  await eventually(async () => expect(await setup.metrics()).toMatch(held(0)));
  expect(setup.routed).toHaveLength(all);
}, 300_000);

test('a record of a newer format is not skipped, but ends the router with a reason', async () => {
  const setup = await setUp(...standard());
  await setup.append([
    aMessage('m1'),
    aMessage('m2', { headers: { format: '9' } }),
    aMessage('m3'),
  ]);
  expect(await setup.router.exited).toBe(1);
  expect(setup.router.output()).toMatch(
    /format 9, written by a newer Waypost than this router\. Upgrade it\./,
  );
  expect(ids(setup.routed).filter((id) => id !== 'm1')).toEqual([]);
  expect(setup.rejected).toEqual([]);
});
