import { randomBytes, randomUUID } from 'node:crypto';
import { type Admin, ConfigResourceTypes, Kafka as KafkaJs, logLevel } from 'kafkajs';
import { connectKafka } from '../../shared/kafka/client/client';
import { makeTopics } from '../../bin/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { type Destination } from '../../shared/model/config';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from '../support/eventually';
import { configRecord } from '../support/processes';
import { FORMAT } from '../../shared/model/record-format';

/** The retention of existing topics. */

const AT = '2026-01-01T00:00:00.000Z';

const prefix = `kept-${randomUUID().slice(0, 8)}.`;
let admin: Admin;
beforeAll(async () => {
  admin = new KafkaJs({
    brokers: [process.env.KAFKA_BROKERS!],
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
});
afterAll(() => admin.disconnect());

const settingsWith = (retention: string) => ({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS,
  WAYPOST_TOPIC_PREFIX: prefix,
  WAYPOST_PARTITIONS: '1',
  WAYPOST_REPLICATION: '1',
  WAYPOST_TOPIC_RETENTION: retention,
});

/** Starts and ends a service that sets retentions. */
async function start(retention: string): Promise<void> {
  const kafka = await connectKafka(loadSettings(settingsWith(retention)), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  await kafka.setRetention();
  await kafka.close();
}

const resource = (topic: string) => ({ type: ConfigResourceTypes.TOPIC, name: prefix + topic });
const NAMES = [
  'retention.ms',
  'segment.ms',
  'segment.bytes',
  'min.insync.replicas',
  'message.timestamp.type',
];

async function settingsOf(topic: string): Promise<(string | undefined)[]> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [resource(topic)],
  });
  const entries = new Map(
    resources[0]!.configEntries.map(({ configName, configValue }) => [configName, configValue]),
  );
  return NAMES.map((name) => entries.get(name));
}

/**
 * Waits until a topic has these settings, in the order of NAMES: a broker answers a change before
 * it shows it.
 */
const has = (topic: string, ...expected: unknown[]) =>
  eventually(async () =>
    expect((await settingsOf(topic)).slice(0, expected.length)).toEqual(expected),
  );

/** Alters a topic by hand, as an operator would. */
async function alter(topic: string, changes: Record<string, string>): Promise<void> {
  const configEntries = Object.entries({ 'message.timestamp.type': 'LogAppendTime', ...changes });
  await admin.alterConfigs({
    validateOnly: false,
    resources: [
      {
        ...resource(topic),
        configEntries: configEntries.map(([name, value]) => ({ name, value })),
      },
    ],
  });
  const wanted = NAMES.map((name): unknown => changes[name] ?? expect.anything());
  await has(topic, ...wanted);
}

const [HOUR, DAY] = [3_600_000, 86_400_000].map(String);
const SIX_HOURS = String(6 * 3_600_000);
const WEEK = String(7 * 86_400_000);

test('new and existing topics get the set retention, and all other settings stay', async () => {
  await start('attempts=1d');
  await has('attempts', DAY, SIX_HOURS);
  await has('webhooks', WEEK);

  await alter('webhooks.due', { 'retention.ms': WEEK, 'segment.bytes': '1048576' });
  await alter('messages', { 'retention.ms': HOUR! });
  await start('attempts=2d,webhooks=1d');
  await has('attempts', String(2 * 86_400_000));
  await has('webhooks', DAY, SIX_HOURS, expect.any(String), '1', 'LogAppendTime');
  await has('webhooks.due', DAY, SIX_HOURS, '1048576', '1', 'LogAppendTime');
  await alter('attempts', { 'retention.ms': String(2 * 86_400_000), 'segment.ms': WEEK });
  await start('attempts=2d');
  await has('attempts', String(2 * 86_400_000), String(12 * 3_600_000));
  // The setting does not name it.
  await has('messages', HOUR);
});

test("the job that makes topics refuses a retention below a destination's window", async () => {
  await start('');
  const before = await settingsOf('webhooks');
  const env = settingsWith('webhooks=6h');
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
  const data = {
    id: 'dst_1',
    name: 'Hook',
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [],
    webhooks: [],
    retry: { windowMs: 12 * 3_600_000 },
    createdAt: AT,
    updatedAt: AT,
  } as unknown as Destination;
  await producer.send([
    configRecord(
      {
        format: FORMAT,
        version: 1,
        replaces: 0,
        at: AT,
        kind: 'destination',
        id: 'dst_1',
        data,
      },
      { WAYPOST_SECRET_KEY: randomBytes(32).toString('base64') },
    ),
  ]);
  await expect(makeTopics([], { ...env, WAYPOST_LOG_LEVEL: 'silent' })).rejects.toThrow(
    'WAYPOST_TOPIC_RETENTION: webhooks must keep at least 12h, the window of destination dst_1',
  );
  expect(await settingsOf('webhooks')).toEqual(before);
  await producer.close(1_000);
  await kafka.close();
});
