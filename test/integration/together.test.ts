import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Admin, Kafka as KafkaJs, logLevel } from 'kafkajs';
import { type ConfigRecord, configKey, type Destination } from '../../shared/domain/config';
import { createSealer } from '../../shared/config/seal';
import { connectKafka } from '../../shared/kafka/client';
import { describeGroup, unreadPlaces } from '../../shared/kafka/group';
import { type Appender, type Kafka, type OutRecord } from '../../shared/kafka/port';
import { DUE, MESSAGES, tierTopic, WEBHOOKS } from '../../shared/kafka/topics';
import { loadSettings, requireSecretKeys } from '../../shared/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from '../support/eventually';
import { aSource } from '../support/fakes';
import { freePorts } from '../support/free-port';
import { type Service, startService } from '../support/service';
import { type Sink, startSink } from '../support/sink';

/**
 * Several processes of each service start at the same time, or one after the other, on new topics: each gets its share of all
 * partitions, and every call is delivered. `TOGETHER=all npm run test:integration -- --testPathPatterns together` starts two,
 * three and five of each, at once, one and three seconds apart (some ten minutes).
 */

const AT = '2026-11-21T08:00:00.000Z';
const PARTITIONS = 6;
const TIERS_MS = [1_000, 3_000];
const SERVICES = ['router', 'delivery', 'retry'] as const;
type Name = (typeof SERVICES)[number];
const READ: Record<Name, string[]> = { router: [MESSAGES], delivery: [WEBHOOKS, DUE], retry: TIERS_MS.map(tierTopic) };
/** Their shards fall on every partition. */
const DESTINATIONS = 6;
const CALLS = 60;

interface Stage {
  prefix: string;
  env: Record<string, string>;
  kafka: Kafka;
  appender: Appender;
  admin: Admin;
  sink: Sink;
  running: Service[];
  start(name: Name): Promise<void>;
}

let stage: Stage | undefined;
afterEach(async () => {
  if (!stage) return;
  const { running, appender, kafka, admin, sink } = stage;
  stage = undefined;
  await Promise.all(running.map((service) => service.kill()));
  await appender.close(1_000);
  await Promise.all([kafka.close(), admin.disconnect(), sink.close()]);
}, 60_000);

async function setUp(): Promise<Stage> {
  const prefix = `together-${randomUUID().slice(0, 8)}.`;
  const env = {
    KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
    WAYPOST_TOPIC_PREFIX: prefix,
    WAYPOST_PARTITIONS: String(PARTITIONS),
    WAYPOST_REPLICATION: '1',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8',
    WAYPOST_RETRY_DELAYS: TIERS_MS.map((ms) => `${ms}ms`).join(),
    WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
  };
  const kafka = await connectKafka(loadSettings(env), { clientId: 'test', log: createLog('test', 'silent') });
  const appender = await kafka.appender({ maxPendingBytes: 1e9, giveUpAfterMs: 10_000 });
  const admin = new KafkaJs({ brokers: env.KAFKA_BROKERS.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const sink = await startSink();
  // One destination fails at first: what it is sent comes back by way of the tiers.
  sink.on('/hook/0', (request, nth) => ({ status: nth <= 3 ? 503 : 200 }));
  const running: Service[] = [];
  const start = async (name: Name) => {
    const [port] = await freePorts(1);
    running.push(await startService(name, { ...env, [`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]: String(port) }));
  };
  return { prefix, env, kafka, appender, admin, sink, running, start };
}

function configOf({ sink, env }: Stage): OutRecord[] {
  const sealer = createSealer(requireSecretKeys(loadSettings(env)));
  const destinations = Array.from({ length: DESTINATIONS }, (_, i): Destination => ({
    ...{ id: `dst_${String(i)}`, name: 'hook', type: 'webhooks', enabled: true, paused: false, sources: ['src_1'] },
    ...{ createdAt: AT, updatedAt: AT },
    webhooks: [
      {
        ...{ id: `whk_${String(i)}`, origin: sink.url(''), headers: {} },
        url: sealer.seal(sink.url(`/hook/${String(i)}`), `dst_${String(i)}`),
      },
    ],
  }));
  const entry = { format: 1 as const, version: 1, replaces: 0, at: AT };
  const records: ConfigRecord[] = [
    { ...entry, kind: 'source', id: 'src_1', data: aSource() },
    ...destinations.map((data) => ({ ...entry, kind: 'destination' as const, id: data.id, data })),
  ];
  return records.map((record) => ({
    ...{ topic: 'config', key: configKey(record.kind, record.id), value: JSON.stringify(record) },
  }));
}

function calls(name: string): OutRecord[] {
  return Array.from({ length: CALLS }, (_, i) => {
    const [userId, messageId] = [`user-${String(i)}`, `${name}-${String(i)}`];
    const message = { type: 'track', messageId, event: 'e', userId, timestamp: AT, receivedAt: AT };
    return {
      topic: MESSAGES,
      key: `src_1:${userId}`,
      value: JSON.stringify(message),
      headers: {
        ...{ format: '1', source: 'src_1', message: messageId, 'accepted-at': String(Date.now()) },
        traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      },
    };
  });
}

/** Every call of a name at every destination, with status 200 in the end. */
function arrived({ sink }: Stage, name: string): Promise<void> {
  return eventually(
    () => {
      const found = new Set(
        sink.requests.map(({ path, body }) => {
          const { messageId = '' } = JSON.parse(String(body) || '{}') as { messageId?: string };
          return `${path} ${messageId}`;
        }),
      );
      const missing = Array.from({ length: DESTINATIONS }, (_, d) =>
        Array.from({ length: CALLS }, (_, i) => `/hook/${String(d)} ${name}-${String(i)}`),
      ).flat();
      expect(missing.filter((each) => !found.has(each))).toEqual([]);
    },
    { deadlineMs: 60_000 },
  );
}

/** Every partition of each service has a reader, and no process has two stripes more than another. */
function shared({ admin, prefix }: Stage, members: number): Promise<void> {
  return eventually(
    async () => {
      for (const name of SERVICES) {
        const view = await describeGroup(admin, `${prefix}waypost-${name}`);
        const counts = new Map(READ[name].map((topic) => [prefix + topic, PARTITIONS]));
        expect([name, view?.members.length, view && unreadPlaces(view, counts)]).toEqual([name, members, []]);
        const shares = view!.members.map(({ places }) => places.size / READ[name].length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }
    },
    { deadlineMs: 60_000 },
  );
}

const SHORT: [processes: number, gapMs: number][] = [
  [2, 1_000],
  [3, 0],
];
const ALL: typeof SHORT = [2, 3, 5].flatMap((processes) =>
  [0, 1_000, 3_000].map((gapMs): [number, number] => [processes, gapMs]),
);

test.each(process.env.TOGETHER === 'all' ? ALL : SHORT)(
  '%i routers, deliveries and retries that start %i ms apart on new topics share all partitions, also with one that joins later',
  async (processes, gapMs) => {
    const on = (stage = await setUp());
    await on.appender.append(configOf(on));
    await Promise.all(
      SERVICES.flatMap((name) =>
        Array.from({ length: processes }, async (_, i) => {
          // The given: when each is started.
          await pause(i * gapMs);
          await on.start(name);
        }),
      ),
    );
    await on.appender.append(calls('first'));
    await Promise.all([arrived(on, 'first'), shared(on, processes)]);
    // All is idle now: one more of each takes its share.
    await Promise.all(SERVICES.map((name) => on.start(name)));
    await shared(on, processes + 1);
    await on.appender.append(calls('second'));
    await arrived(on, 'second');
  },
  240_000,
);
