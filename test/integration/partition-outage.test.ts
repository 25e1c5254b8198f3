import { producerOptions, startIngest } from '../../services/ingest/assemble';
import { type IngestServer } from '../../services/ingest/server';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka } from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { metrics } from '../../shared/telemetry/metrics';
import { renderMetrics } from '../../shared/telemetry/prometheus';
import { eventually } from '../support/eventually';
import { aSource, fakeConfig } from '../support/fakes';
import { startThreeBrokers, type ThreeBrokers } from '../support/three-brokers';
import { readTopic } from '../support/topics';

/**
 * Three brokers with `min.insync.replicas=2`. Two of ten partitions have a replica on the third
 * broker and only one other: without that broker they accept no records, and the other partitions
 * do.
 */

const PREFIX = 'outage.';
const PARTITIONS = 10;
const BLOCKED = [4, 9];
const USERS = 300;
const settings = { maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' as const };

let brokers: ThreeBrokers | undefined;
let kafka: Kafka | undefined;
let held: BatchProducer | undefined;
let ingest: IngestServer | undefined;
let ingestAppender: BatchProducer | undefined;

beforeAll(async () => {
  brokers = await startThreeBrokers();
  const replicas = Array.from({ length: PARTITIONS }, (_, partition) => {
    const [one, other] = partition % 2 === 0 ? ([1, 2] as const) : ([2, 1] as const);
    return BLOCKED.includes(partition) ? [one, 3] : [one, other];
  });
  for (const topic of ['messages', 'webhooks']) {
    await brokers.createTopic(PREFIX + topic, replicas, 2);
  }
  kafka = await connectKafka(
    loadSettings({
      KAFKA_BROKERS: brokers.brokers,
      WAYPOST_TOPIC_PREFIX: PREFIX,
      WAYPOST_PARTITIONS: '2',
      WAYPOST_REPLICATION: '3',
    }),
    { clientId: 'test', log: createLog('test', 'silent') },
  );
  const log = createLog('test', 'silent');
  held = await kafka.producer(settings);
  ingestAppender = await kafka.producer(producerOptions({ pendingBytes: 1e8 }));
  ingest = await startIngest({
    config: fakeConfig(aSource()),
    producer: ingestAppender,
    log,
    host: '127.0.0.1',
    port: 0,
    keepAliveMs: 75_000,
    limits: { maxPerSecond: 1_000_000, processes: 1 },
  });
}, 240_000);

afterAll(async () => {
  await ingest?.stop(100);
  await held?.close(100);
  await ingestAppender?.close(100);
  await kafka?.close();
  await brokers?.close();
});

test('ingest answers 200 although partitions lack replicas, and repeats no record', async () => {
  // Given a connection to every leader. The third broker stops.
  const before = writeRound('before');
  await eventually(() => expect(before.every(({ done }) => done)).toBe(true));
  await brokers?.stopThird(`${PREFIX}webhooks`, BLOCKED[0]!);

  // Records of writable partitions are acknowledged, and records of the two others are held.
  const rounds = ['first', 'second', 'third'].map((round) => writeRound(round));
  await eventually(() =>
    expect(rounds.flat().filter(({ done }) => done)).toHaveLength(
      3 * (PARTITIONS - BLOCKED.length),
    ),
  );
  await eventually(async () => expect(await blockedPartitions('webhooks')).toBe(BLOCKED.length));
  const later = writeRound('later');
  await eventually(() =>
    expect(later.filter(({ done }) => done)).toHaveLength(PARTITIONS - BLOCKED.length),
  );
  expect(
    [...rounds.flat(), ...later].filter(
      ({ done, partition }) => done && BLOCKED.includes(partition),
    ),
  ).toEqual([]);

  // Ingest refuses neither single calls nor batches of 100 users.
  const statuses = await Promise.all(Array.from({ length: USERS }, (_, i) => track(`single-${i}`)));
  const batches: number[] = [];
  for (let i = 0; i < USERS; i += 100) {
    batches.push(await batch(Array.from({ length: 100 }, (_, k) => `batch-${i + k}`)));
  }
  expect(new Set([...statuses, ...batches])).toEqual(new Set([200]));
  const messages = await readAll('messages');
  expect(
    messages.map(({ value }) => (JSON.parse(value) as { messageId: string }).messageId).sort(),
  ).toEqual(
    Array.from({ length: USERS }, (_, i) => [`batch-${i}`, `single-${i}`])
      .flat()
      .sort(),
  );
  expect(messages.filter(({ partition }) => BLOCKED.includes(partition))).toEqual([]);

  // When the broker returns, the held records are written once and in order.
  await brokers?.startThird();
  await eventually(
    () => expect([...rounds.flat(), ...later].every(({ done }) => done)).toBe(true),
    {
      deadlineMs: 120_000,
    },
  );
  const written = await readAll('webhooks');
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const values = written
      .filter((record) => record.partition === partition)
      .map(({ value }) => value);
    expect(values).toEqual(['before', 'first', 'second', 'third', 'later']);
  }
  await eventually(async () => expect(await blockedPartitions('webhooks')).toBe(0));
}, 500_000);

interface Writing {
  partition: number;
  done: boolean;
}

/** Writes one record to each partition of `webhooks`. */
function writeRound(value: string): Writing[] {
  return Array.from({ length: PARTITIONS }, (_, partition) => {
    const writing = { partition, done: false };
    void held
      ?.send([{ topic: 'webhooks', key: null, value, partition }])
      .then(() => (writing.done = true));
    return writing;
  });
}

async function blockedPartitions(topic: string): Promise<number> {
  const text = await renderMetrics(metrics);
  const sample = new RegExp(`^waypost_producer_blocked{.*name="${topic}".*} (\\d+)$`, 'm').exec(
    text,
  );
  return Number(sample?.[1] ?? 0);
}

async function readAll(topic: string): Promise<{ partition: number; value: string }[]> {
  return (await readTopic(kafka!, topic)).map(({ partition, value }) => ({
    partition,
    value: String(value),
  }));
}

async function track(id: string): Promise<number> {
  return post('/v1/track', { userId: id, event: 'e', messageId: id });
}

async function batch(ids: string[]): Promise<number> {
  return post('/v1/batch', {
    batch: ids.map((id) => ({ type: 'track', userId: id, event: 'e', messageId: id })),
  });
}

async function post(path: string, body: unknown): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${ingest!.port}${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('key-1:').toString('base64')}` },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
  return answer.status;
}
