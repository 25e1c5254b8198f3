import { randomBytes } from 'node:crypto';
import { createEncryptor } from '../../shared/config/encryption';
import { secretFields } from '../../shared/model/secret-fields';
import { type ConfigRecord, type Destination } from '../../shared/model/config';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka, type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS, CONFIG, MESSAGES, WEBHOOKS } from '../../shared/kafka/topics';
import { loadSettings, requireSecretKeys } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { metrics } from '../../shared/telemetry/metrics';
import { renderMetrics } from '../../shared/telemetry/prometheus';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { freePorts } from '../support/free-port';
import { configRecord } from '../support/processes';
import { type Service, startService } from '../support/service';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startThreeBrokers, type ThreeBrokers } from '../support/three-brokers';
import { readTopic } from '../support/topics';
import { FORMAT, FORMAT_HEADER } from '../../shared/model/record-format';

/** Ingest, router and delivery on three brokers while the third one stops and returns. */

const AT = '2026-11-21T08:00:00.000Z';
const RECOVERY_MS = 120_000;

/** Ten partitions: two of them have their second replica on the third broker. */
const LACKING = [4, 9];
const REPLICAS = Array.from({ length: 10 }, (_, partition) => [
  1 + (partition % 2),
  LACKING.includes(partition) ? 3 : 2 - (partition % 2),
]);

let brokers: ThreeBrokers;
let sink: Sink;
let stage: Stage | undefined;

beforeAll(async () => {
  [brokers, sink] = await Promise.all([startThreeBrokers(), startSink()]);
}, 240_000);

afterEach(async () => {
  if (!stage) return;
  const { running, producer, kafka } = stage;
  await Promise.all(running.map((service) => service.kill()));
  await producer.close(1_000);
  await kafka.close();
  stage = undefined;
  sink.clear();
});

afterAll(async () => {
  await sink.close();
  await brokers.close();
});

test('without a third broker calls arrive once while two partitions lack replicas', async () => {
  const on = (stage = await setUp('lacking.', {
    [MESSAGES]: REPLICAS,
    [WEBHOOKS]: REPLICAS,
    [ATTEMPTS]: REPLICAS,
  }));
  // Deliveries that do not fit into a lane come back through the tiers.
  await Promise.all((['router', 'delivery', 'retry', 'ingest'] as const).map(on.start));
  await sendAll(on, 'warm-up');
  const before = await sendAll(on, 'before');

  // When the third broker is down, every call arrives although the broker stays down.
  await brokers.stopThird(on.prefix + MESSAGES, LACKING[0]!);
  const atOutage = await endsOf(on);
  const during = await sendAll(on, 'during');
  process.stderr.write(
    `calls delivered per second: ${before} with all brokers, ${during} without the third\n`,
  );
  expect(grown(atOutage, await endsOf(on))).toEqual([0, 1, 2, 3, 5, 6, 7, 8]);
  // What delivery writes about them does not wait for the broker either.
  await eventually(async () => expect(await oldestOf(on)).toBe(0), { deadlineMs: 30_000 });

  // When it returns, the two partitions accept records again.
  await brokers.startThird();
  await eventually(
    async () => {
      await sendAll(on, `after-${String(++on.sent)}`);
      expect(grown(atOutage, await endsOf(on))).toEqual(REPLICAS.map((_, partition) => partition));
    },
    { deadlineMs: RECOVERY_MS },
  );

  // No call was delivered twice, and no record was written twice.
  const arrived = sink.requests.map(messageIdOf);
  expect(arrived).toHaveLength(new Set(arrived).size);
  for (const topic of [MESSAGES, WEBHOOKS]) {
    expect((await idsOf(on, topic)).sort()).toEqual(arrived.sort());
  }
}, 600_000);

test('a router that starts while a partition lacks a leader reads that one later', async () => {
  const on = (stage = await setUp('leaderless.', { [MESSAGES]: [[1], [2], [3]] }));
  await on.producer.send(['a', 'b', 'c'].map((id, partition) => ({ ...message(id), partition })));
  await brokers.stopThird(on.prefix + CONFIG, 0);
  await Promise.all([on.start('router'), on.start('delivery')]);
  await eventually(() => expect(sink.requests.map(messageIdOf).sort()).toEqual(['a', 'b']), {
    deadlineMs: RECOVERY_MS,
  });
  await brokers.startThird();
  await eventually(() => expect(sink.requests.map(messageIdOf).sort()).toEqual(['a', 'b', 'c']), {
    deadlineMs: RECOVERY_MS,
  });
}, 600_000);

test('records of partitions that lack replicas are held, and written once and in order', async () => {
  const on = (stage = await setUp('held.', { [WEBHOOKS]: REPLICAS }));
  const producer = await on.kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  /** Writes one record to each partition. */
  const write = (value: string) =>
    REPLICAS.map((_, partition) => {
      const writing = { isHeld: LACKING.includes(partition), isDone: false };
      void producer
        .send([{ topic: WEBHOOKS, key: null, value, partition }])
        .then(() => (writing.isDone = true));
      return writing;
    });
  const before = write('before');
  await eventually(() => expect(before.every(({ isDone }) => isDone)).toBe(true));

  await brokers.stopThird(on.prefix + WEBHOOKS, LACKING[0]!);
  const rounds = ['first', 'second', 'third'].flatMap(write);
  await eventually(() => expect(rounds.every(({ isHeld, isDone }) => isHeld || isDone)).toBe(true));
  await eventually(async () => expect(await blockedPartitions()).toBe(LACKING.length));
  const later = write('later');
  await eventually(() => expect(later.every(({ isHeld, isDone }) => isHeld || isDone)).toBe(true));
  const all = [...rounds, ...later];
  expect(all.filter(({ isHeld, isDone }) => isHeld && isDone)).toEqual([]);

  await brokers.startThird();
  await eventually(() => expect(all.every(({ isDone }) => isDone)).toBe(true), {
    deadlineMs: RECOVERY_MS,
  });
  const written = await readTopic(on.kafka, WEBHOOKS);
  for (const partition of REPLICAS.keys()) {
    const values = written
      .filter((record) => record.partition === partition)
      .map(({ value }) => String(value));
    expect(values).toEqual(['before', 'first', 'second', 'third', 'later']);
  }
  await eventually(async () => expect(await blockedPartitions()).toBe(0));
  await producer.close(1_000);
}, 600_000);

/** Returns the number of partitions of `webhooks` that this process cannot write. */
async function blockedPartitions(): Promise<number> {
  const sample = new RegExp(`^waypost_producer_blocked{.*name="${WEBHOOKS}".*} (\\d+)$`, 'm');
  return Number(sample.exec(await renderMetrics(metrics))?.[1] ?? 0);
}

interface Stage {
  prefix: string;
  ingestPort: number;
  kafka: Kafka;
  producer: BatchProducer;
  running: Service[];
  /** by service */
  healthPorts: Map<string, number>;
  /** rounds of `sendAll` after the outage */
  sent: number;
  start: (name: 'ingest' | 'router' | 'delivery' | 'retry') => Promise<void>;
}

async function setUp(prefix: string, topics: Record<string, number[][]>): Promise<Stage> {
  for (const [name, replicas] of Object.entries(topics)) {
    await brokers.createTopic(prefix + name, replicas, Math.min(2, replicas[0]!.length));
  }
  const [ingestPort = 0] = await freePorts(1);
  const env = {
    KAFKA_BROKERS: brokers.brokers,
    WAYPOST_TOPIC_PREFIX: prefix,
    WAYPOST_PARTITIONS: '3',
    WAYPOST_REPLICATION: '3',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8',
    WAYPOST_RETRY_DELAYS: '1s',
    WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
    WAYPOST_SOURCE_MAX_PER_SECOND: '1000000',
    WAYPOST_INGEST_PORT: String(ingestPort),
  };
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 10_000 });
  await producer.send(configOf(env));
  const running: Service[] = [];
  const healthPorts = new Map<string, number>();
  const start = async (name: string) => {
    const [port = 0] = await freePorts(1);
    healthPorts.set(name, port);
    const health = { [`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]: String(port) };
    running.push(await startService(name as 'router', { ...env, ...health }));
  };
  return {
    prefix,
    ingestPort,
    kafka,
    producer,
    running,
    healthPorts,
    sent: 0,
    start,
  };
}

function configOf(env: Record<string, string>): OutRecord[] {
  const encryptor = createEncryptor(requireSecretKeys(loadSettings(env)));
  const url = {
    id: 'whk_1',
    origin: sink.url(''),
    headers: {},
    url: encryptor.encrypt(sink.url('/hook'), secretFields.url('dst_1', 'whk_1')),
  };
  const data: Destination = {
    id: 'dst_1',
    name: 'hook',
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: ['src_1'],
    createdAt: AT,
    updatedAt: AT,
    webhooks: [url],
  };
  const entry = { format: FORMAT, version: 1, replaces: 0, at: AT };
  const records: ConfigRecord[] = [
    { ...entry, kind: 'source', id: 'src_1', data: aSource() },
    { ...entry, kind: 'destination', id: data.id, data },
  ];
  return records.map((record) => configRecord(record, env));
}

function message(id: string): OutRecord {
  const value = {
    type: 'track',
    messageId: id,
    event: 'e',
    userId: id,
    timestamp: AT,
    receivedAt: AT,
  };
  const headers = {
    format: FORMAT_HEADER,
    source: 'src_1',
    message: id,
    'accepted-at': String(Date.now()),
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  };
  return { topic: MESSAGES, key: `src_1:${id}`, value: JSON.stringify(value), headers };
}

const SINGLES = 300;
const BATCHES = 10;

/**
 * Sends single calls and batches of 100 users, and waits until all are delivered.
 * @returns calls per second
 */
async function sendAll(on: Stage, round: string): Promise<number> {
  const startedAt = performance.now();
  const calls = Array.from({ length: SINGLES + 100 * BATCHES }, (_, i) => {
    const id = `${round}-${String(i)}`;
    return { type: 'track', userId: id, event: 'e', messageId: id };
  });
  const statuses = await Promise.all([
    ...calls.slice(0, SINGLES).map((call) => post(on, '/v1/track', call)),
    ...Array.from({ length: BATCHES }, (_, i) =>
      post(on, '/v1/batch', { batch: calls.slice(SINGLES + 100 * i, SINGLES + 100 * (i + 1)) }),
    ),
  ]);
  expect(new Set(statuses)).toEqual(new Set([200]));
  await eventually(
    () => {
      const arrived = new Set(sink.requests.map(messageIdOf));
      expect(calls.map(({ messageId }) => messageId).filter((id) => !arrived.has(id))).toEqual([]);
    },
    { deadlineMs: RECOVERY_MS, everyMs: 20 },
  );
  return Math.round((1_000 * calls.length) / (performance.now() - startedAt));
}

async function post({ ingestPort }: Stage, path: string, body: unknown): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${String(ingestPort)}${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('key-1:').toString('base64')}` },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer.status;
}

function messageIdOf({ body }: { body: Buffer }): string {
  return (JSON.parse(String(body) || '{}') as { messageId?: string }).messageId ?? '';
}

/** Returns the seconds for which the oldest record that delivery writes has waited. */
async function oldestOf({ healthPorts }: Stage): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${String(healthPorts.get('delivery'))}/metrics`);
  const oldest = /^waypost_producer_oldest_seconds(?:\{.*\})? (\S+)$/gm;
  return Math.max(...[...(await answer.text()).matchAll(oldest)].map(([, value]) => Number(value)));
}

/** Returns the end offset of each partition of `messages`. */
async function endsOf({ kafka }: Stage): Promise<number[]> {
  const ends: number[] = [];
  for (const { partition, high } of await kafka.ranges(MESSAGES)) ends[partition] = high;
  return ends;
}

/** Returns the partitions that have more records than before. */
function grown(before: readonly number[], now: readonly number[]): number[] {
  return now.flatMap((end, partition) => (end > before[partition]! ? [partition] : []));
}

/** Returns the message id of each record of a topic. */
async function idsOf({ kafka }: Stage, topic: string): Promise<string[]> {
  return (await readTopic(kafka, topic)).map(({ headers }) => headers.message ?? '');
}
