import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Admin, Kafka as KafkaJs, logLevel } from 'kafkajs';
import {
  decodeDelivery,
  type Delivery,
  deliveryKey,
  encodeDelivery,
} from '../../shared/model/delivery';
import { createStepDedup } from '../../shared/model/dedup-window';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka, type OutRecord, type Tail } from '../../shared/kafka/port';
import { DEAD, DUE, tierTopic } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { limitRecords } from '../support/limit-records';
import { type Service, startService } from '../support/service';
import { aDelivery } from '../support/factories';
import { readTopic } from '../support/topics';

/** Several retry processes share the tiers, start and stop while deliveries fall due. */

const TIERS_MS = [1_000, 3_000];
const WAITING = 2_500;
const PORTION = 100;
/** Deliveries fall due over seconds, so that a process stops amid them. */
const PORTION_EVERY_MS = 100;

const env = {
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: `retry-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '6',
  WAYPOST_REPLICATION: '1',
  WAYPOST_HOST: '127.0.0.1',
  WAYPOST_RETRY_DELAYS: TIERS_MS.map((ms) => `${ms}ms`).join(),
};

interface Returned {
  delivery: Delivery;
  at: number;
  body: string;
  /** a duplicate step, which delivery drops */
  fork: boolean;
}

let kafka: Kafka;
let producer: BatchProducer;
let admin: Admin;
let tail: Tail;
const due: Returned[] = [];
const running: Service[] = [];

beforeAll(async () => {
  kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  producer = await kafka.producer({ maxPendingBytes: Infinity, deliveryTimeoutMs: 'retry' });
  admin = new KafkaJs({
    brokers: env.KAFKA_BROKERS.split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  const forks = createStepDedup();
  tail = await kafka.tail({
    name: 'due',
    topic: DUE,
    from: 'beginning',
    onRecord: (record) => {
      const decoded = decodeDelivery(record.headers);
      if (decoded.kind !== 'delivery') throw new Error(JSON.stringify(decoded));
      const fork = forks.isDuplicateStep(record, Date.now());
      due.push({
        delivery: decoded.delivery,
        at: record.timestampMs,
        body: String(record.value),
        fork,
      });
    },
    onFatal: (error) => {
      throw error;
    },
  });
  await Promise.all([start(), start(), start()]);
}, 300_000);

afterAll(async () => {
  await Promise.all(running.map((service) => service.kill()));
  await tail.stop();
  await admin.disconnect();
  await producer.close(1_000);
  await kafka.close();
});

async function start(): Promise<void> {
  const [port] = await freePorts(1);
  running.push(await startService('retry', { ...env, WAYPOST_RETRY_HEALTH_PORT: String(port) }));
}

/** Writes deliveries to both tiers, portion by portion. @returns their ids */
async function wait(count: number): Promise<Set<string>> {
  const ids = new Set<string>();
  while (ids.size < count) {
    const portion = Array.from({ length: PORTION }, (_, i) => aDeliveryOf(`user-${i}`));
    for (const { id } of portion) ids.add(id);
    await producer.send(
      portion.map((delivery, i) => recordOf(delivery, tierTopic(TIERS_MS[i % TIERS_MS.length]!))),
    );
    // Load over time, not a wait for a result.
    await pause(PORTION_EVERY_MS);
  }
  return ids;
}

function aDeliveryOf(userId: string): Delivery {
  const id = `dlv_${randomUUID()}`;
  return aDelivery({ id, messageId: id, userId, acceptedAt: Date.now(), attempt: 1, hop: 1 });
}

function recordOf(
  delivery: Delivery,
  topic: string,
  value: OutRecord['value'] = `body of ${delivery.id}`,
): OutRecord {
  return {
    topic,
    key: deliveryKey(delivery.destinationId, delivery.userId!, 12),
    value,
    headers: encodeDelivery(delivery),
  };
}

const returnedOf = (ids: Set<string>) => due.filter(({ delivery }) => ids.has(delivery.id));

/** Waits until this number of different deliveries has returned. */
function returned(ids: () => Set<string>, count: number): Promise<void> {
  return eventually(() => expect(distinct(ids())).toBeGreaterThanOrEqual(count), {
    deadlineMs: 120_000,
  });
}
const distinct = (ids: Set<string>) =>
  new Set(returnedOf(ids).map(({ delivery }) => delivery.id)).size;

/**
 * Checks that each delivery returned complete, not before its time, and once except for duplicate
 * steps.
 */
function allOnce(ids: Set<string>): void {
  const all = returnedOf(ids);
  const kept = all.filter(({ fork }) => !fork).map(({ delivery }) => delivery.id);
  expect(kept.toSorted()).toEqual([...ids].toSorted());
  expect(all.filter(({ delivery, body }) => body !== `body of ${delivery.id}`)).toEqual([]);
  expect(
    all.filter(({ delivery, at }) => at < delivery.acceptedAt + Math.min(...TIERS_MS)),
  ).toEqual([]);
}

test('while retry processes stop by SIGTERM or start, each delivery returns once', async () => {
  // Two of three processes stop while deliveries fall due, and one starts.
  const from = due.length;
  const waiting = wait(WAITING);
  const soFar = () => new Set(due.slice(from).map(({ delivery }) => delivery.id));
  await returned(soFar, WAITING / 5);
  expect(await running.shift()!.stop()).toBe(0);
  await start();
  await returned(soFar, WAITING / 2);
  expect(await running.shift()!.stop()).toBe(0);
  const ids = await waiting;
  await returned(() => ids, WAITING);
  allOnce(ids);
  expect(returnedOf(ids)).toHaveLength(WAITING);
}, 300_000);

test('a killed retry process loses no delivery, and delivery drops repeated ones', async () => {
  const from = due.length;
  const waiting = wait(WAITING);
  const soFar = () => new Set(due.slice(from).map(({ delivery }) => delivery.id));
  await returned(soFar, WAITING / 3);
  await running.shift()!.kill();
  await start();
  const ids = await waiting;
  await returned(() => ids, WAITING);
  allOnce(ids);
  process.stdout.write(
    `killed: ${returnedOf(ids).length - WAITING} of ${WAITING} were given back twice\n`,
  );
}, 300_000);

/** `WAYPOST_RETRY_DELAYS` does not name it. One test creates it, and the next deletes it. */
const OTHER_TIER = tierTopic(7_000);

test('retry reads a tier that is created while it runs', async () => {
  const topic = env.WAYPOST_TOPIC_PREFIX + OTHER_TIER;
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
  await admin.createTopics({
    topics: [{ topic, numPartitions: 6, replicationFactor: 1, configEntries }],
  });
  const waiting = Array.from({ length: 30 }, (_, i) => aDeliveryOf(`user-${i}`));
  const ids = new Set(waiting.map(({ id }) => id));
  await producer.send(waiting.map((delivery) => recordOf(delivery, OTHER_TIER)));
  // Topics are listed every thirty seconds.
  await returned(() => ids, ids.size);
  allOnce(ids);
}, 300_000);

test('after an empty tier was deleted that no setting names, retry returns what waits in the others', async () => {
  const topic = env.WAYPOST_TOPIC_PREFIX + OTHER_TIER;
  await admin.deleteTopics({ topics: [topic] });
  await eventually(async () => expect(await admin.listTopics()).not.toContain(topic));
  const ids = await wait(2 * PORTION);
  await returned(() => ids, ids.size);
  allOnce(ids);
  // A new member takes partitions over, whose group still has the positions of the deleted tier.
  await start();
  const later = await wait(2 * PORTION);
  await returned(() => later, later.size);
  allOnce(later);
}, 300_000);

// The last test: it leaves `webhooks.due` with a limit.
test('a delivery refused by `webhooks.due` dies without a body, holding up no other', async () => {
  await limitRecords(admin, env.WAYPOST_TOPIC_PREFIX + DUE, 4_000);
  // Random, because batches are compressed.
  const body = randomBytes(10_000);
  // The broker learns the new limit a moment later.
  await eventually(() =>
    expect(producer.send([recordOf(aDeliveryOf('probe'), DUE, body)])).rejects.toMatchObject({
      code: 'kafka_refused',
    }),
  );
  const large = aDeliveryOf('user-1');
  const others = Array.from({ length: 20 }, () => aDeliveryOf('user-1'));
  const ids = new Set(others.map(({ id }) => id));
  const tier = tierTopic(TIERS_MS[0]!);
  const [first, ...rest] = others.map((delivery) => recordOf(delivery, tier));
  await producer.send([first!, recordOf(large, tier, body), ...rest]);
  await returned(() => ids, ids.size);
  allOnce(ids);
  await eventually(async () => {
    const dead = (await readTopic(kafka, DEAD)).map(({ headers, value }) => ({
      delivery: headers.delivery,
      reason: headers.reason,
      bytes: value?.length,
    }));
    expect(dead).toEqual([{ delivery: large.id, reason: 'too_large', bytes: 0 }]);
  });
  expect(distinct(new Set([large.id]))).toBe(0);
}, 300_000);
