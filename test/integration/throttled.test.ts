import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Definitions } from '../../services/audiences/definitions/compile';
import { encodeEvent, EventLog, eventOf } from '../../services/audiences/repartition/event';
import { encodeProfile } from '../../services/audiences/profiles/profile-codec';
import { restore } from '../../services/audiences/profiles/restore';
import { Forgotten } from '../../services/control/history/deletions';
import { type History } from '../../services/control/history/history';
import { Replays } from '../../services/control/replays/runner';
import { createEncryptor } from '../../shared/config/encryption';
import { openConfig } from '../../shared/config/reader';
import { type ConfigView } from '../../shared/config/types';
import { encodeDelivery } from '../../shared/model/delivery';
import { type Message } from '../../shared/model/message';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka, type OutRecord } from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { memoryDatabase } from '../support/database';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { setQuota } from '../support/quotas';
import { aDelivery } from '../support/factories';
import { FORMAT, FORMAT_HEADER } from '../../shared/model/record-format';

/**
 * A broker that throttles: it answers a fetch beyond the quota without any partition, and nothing
 * on a connection that wrote too much. Each test reads or writes about 1.5 times the bytes that the
 * quota allows in one burst. The tests run concurrently, because they mostly wait.
 */

const RECORDS = 400;
const RECORD_BYTES = 1_000;
const BATCH = 25;
const BYTES_PER_SECOND = 30_000;

const run = randomUUID().slice(0, 8);
const throttledClient = `throttled-${run}`;
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};
const settings = loadSettings({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS,
  WAYPOST_TOPIC_PREFIX: `${throttledClient}.`,
  WAYPOST_PARTITIONS: '1',
  WAYPOST_REPLICATION: '1',
});
const numbers = Array.from({ length: RECORDS }, (_, i) => i);
const filler = 'x'.repeat(RECORD_BYTES);

const opened: Kafka[] = [];
let clients = 0;
/** Opens a connection with a fresh quota. */
async function throttled(): Promise<Kafka> {
  const clientId = `${throttledClient}-${String(++clients)}`;
  for (const name of ['consumer_byte_rate', 'producer_byte_rate'] as const) {
    await setQuota(process.env.KAFKA_BROKERS!, `waypost-${clientId}`, name, BYTES_PER_SECOND);
  }
  const kafka = await connectKafka(settings, { clientId, log });
  opened.push(kafka);
  return kafka;
}

async function fill(records: OutRecord[]): Promise<void> {
  const kafka = await connectKafka(settings, { clientId: 'test', log });
  opened.push(kafka);
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  // In batches that fit into the quota: a broker returns whole batches.
  for (let i = 0; i < records.length; i += BATCH) await producer.send(records.slice(i, i + BATCH));
  await producer.close(1_000);
}

afterAll(() => Promise.all(opened.map((kafka) => kafka.close())));

test.concurrent(
  'a service that starts under throttling reads every entry of config',
  async () => {
    const at = new Date().toISOString();
    await fill(
      numbers.map((i) => {
        const data = aSource({ id: `src_${String(i)}`, name: filler });
        const record = {
          format: FORMAT,
          kind: 'source',
          id: data.id,
          version: 1,
          replaces: 0,
          at,
          data,
        };
        return { topic: 'config', key: `source:${data.id}`, value: JSON.stringify(record) };
      }),
    );
    const config = await openConfig(await throttled(), { name: 'test', log, onFatal });
    expect(config.list('source')).toHaveLength(RECORDS);
    await config.refresh(60_000);
    await config.stop();
  },
  300_000,
);

test.concurrent(
  'a throttled restore of audiences is complete',
  async () => {
    await fill(
      numbers.map((i) => ({
        topic: 'profiles',
        key: `uuser-${String(i)}`,
        value: encodeProfile({ traits: { src_1: { note: [filler, 1] } } }),
        partition: 0,
        headers: { format: FORMAT_HEADER },
      })),
    );
    const dir = mkdtempSync(join(tmpdir(), 'waypost-throttled-'));
    const at = { partition: 0, path: join(dir, 'store'), nowMs: Date.now(), log };
    const restored = await restore(await throttled(), at, new Definitions([]));
    expect(restored.records).toBe(RECORDS);
    expect(restored.store.size).toBe(RECORDS);
    await restored.store.close();
    rmSync(dir, { recursive: true, force: true });
  },
  300_000,
);

test.concurrent(
  'a throttled catch-up of audiences skips no event',
  async () => {
    const at = new Date().toISOString();
    const message = {
      type: 'identify',
      messageId: 'm',
      timestamp: at,
      receivedAt: at,
      userId: 'u',
    } as Message;
    await fill(
      numbers.map((i) => {
        const keyed = eventOf(
          { ...message, userId: `u${String(i)}`, traits: { note: filler } },
          'src_1',
        )!;
        return { topic: 'profiles.events', key: keyed.user, ...encodeEvent(keyed.event) };
      }),
    );
    const events = new EventLog(await throttled(), 0);
    const users = new Set<string>();
    for (let next = 0, done = false; !done;) {
      const read = await events.read(next, RECORDS);
      for (const { user } of read.records) users.add(user);
      ({ next, done } = read);
    }
    expect(users.size).toBe(RECORDS);
  },
  300_000,
);

test.concurrent(
  'a throttled replay finds every dead letter',
  async () => {
    await fill(
      numbers.map((i) => ({
        topic: 'webhooks.dead',
        key: 'dst_1:0',
        value: filler,
        headers: encodeDelivery(
          aDelivery({ id: `dlv_${String(i)}`, acceptedAt: 1, expiresAt: 2, attempt: 1 }),
        ),
      })),
    );
    const database = await memoryDatabase();
    const history: Pick<History, 'ask' | 'hasRead' | 'forgotten' | 'learnDeletions'> = {
      ask: (work) => work(database),
      hasRead: () => Promise.resolve(true),
      forgotten: new Forgotten(),
      learnDeletions: () => Promise.resolve(),
    };
    const config = {
      destination: () => ({ version: 1, data: { enabled: true } }),
    } as unknown as ConfigView;
    const producer = { send: () => Promise.resolve() };
    const parts = {
      producer,
      history,
      config,
      encryptor: createEncryptor([Buffer.alloc(32)]),
      windowMs: 3_600_000,
      now: () => new Date(),
      steadyMs: () => performance.now(),
      log,
    };
    const replays = new Replays({ ...parts, isOnlyProcess: false, kafka: await throttled() });
    const scope = {
      destination: 'dst_1',
      origin: 'dead_letters' as const,
      from: null,
      to: Date.now(),
    };
    const all = {
      status: null,
      reason: null,
      type: null,
      includeDelivered: true,
      onlyFailedUrls: false,
    };
    const wanted = { scope: { ...scope, ...all }, preview: true };
    const { id } = await replays.start({ ...wanted, maxPerSecond: 10_000 }, `replay-${run}`);
    const ended = await eventually(
      async () => {
        const job = await replays.get(id);
        if (job.status !== 'done') {
          throw new Error(`the replay is ${job.status}: ${String(job.error)}`);
        }
        return job;
      },
      { deadlineMs: 240_000 },
    );
    expect(ended.matched).toBe(RECORDS);
    await replays.stop();
    await database.close();
  },
  300_000,
);

// By itself: all share what the brokers allow.
test('a throttled member of a group reads each record once', async () => {
  await fill(numbers.map((i) => ({ topic: 'webhooks', key: String(i), value: filler })));
  const kafka = await throttled();
  const read: number[] = [];
  const consumption = await kafka.consume({
    group: 'throttled',
    topics: ['webhooks'],
    onRecord: (record) => {
      read.push(record.offset);
      record.done();
      return 'accepted';
    },
    onFatal,
  });
  await eventually(() => expect(read.length).toBeGreaterThanOrEqual(RECORDS), {
    deadlineMs: 240_000,
  });
  await eventually(async () =>
    expect(await kafka.committed('throttled', 'webhooks')).toEqual([RECORDS]),
  );
  await consumption.stop(5_000);
  expect(read).toEqual(numbers);
}, 300_000);

test('a throttled producer writes each record once', async () => {
  const kafka = await throttled();
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  // Not more at once than ingest would gather into a request.
  for (let i = 0; i < RECORDS; i += BATCH) {
    await producer.send(
      numbers
        .slice(i, i + BATCH)
        .map((number) => ({ topic: 'attempts', key: String(number), value: filler })),
    );
  }
  await producer.close(1_000);
  expect(await kafka.ranges('attempts')).toMatchObject([{ low: 0, high: RECORDS }]);
}, 300_000);
