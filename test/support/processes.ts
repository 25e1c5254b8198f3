import { randomBytes, randomUUID } from 'node:crypto';
import { type Admin, logLevel } from 'kafkajs';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import { type ServiceName } from '../../bin/service-list';
import { createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor } from '../../shared/config/encryption';
import { secretFields } from '../../shared/model/secret-fields';
import { configKey, type ConfigRecord } from '../../shared/model/config';
import { connectKafka } from '../../shared/kafka/client/client';
import { describeGroup } from '../../shared/kafka/client/describe-group';
import { type GroupView, unreadPlaces } from '../../shared/kafka/consumer/unassigned-lag';
import { type BatchProducer, type Kafka, type OutRecord } from '../../shared/kafka/port';
import { CONFIG } from '../../shared/kafka/topics';
import { loadSettings, requireSecretKeys } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from './eventually';
import { freePorts } from './free-port';
import { type Service, startService } from './service';
import { type Sink, startSink } from '../../tools/harness/sink';
import { aDestination } from './factories';
import { FORMAT } from '../../shared/model/record-format';

/**
 * Services as built processes, on new topics of the test run's Kafka, with a receiver of webhooks.
 */
export interface Processes {
  env: Record<string, string>;
  prefix: string;
  kafka: Kafka;
  producer: BatchProducer;
  admin: Admin;
  sink: Sink;
  start(name: ServiceName): Promise<Service & { port: string }>;
  /**
   * Returns the members of a service's group, and the partitions of these topics that no member
   * reads.
   */
  readers(
    name: ServiceName,
    topics: readonly string[],
  ): Promise<{ view: GroupView | undefined; unread: unknown[] }>;
  /**
   * Waits until this number of members read all partitions of these topics.
   * @param except members that must not be the only ones
   * @returns their ids
   */
  shared(
    name: ServiceName,
    topics: readonly string[],
    members: number,
    except?: ReadonlySet<string>,
  ): Promise<Set<string>>;
  /** Waits until the group of a service has committed every record of a topic. */
  allCommitted(name: ServiceName, topic: string): Promise<void>;
  /** Kills all services. */
  close(): Promise<void>;
}

const AT = '2026-11-21T08:00:00.000Z';

export async function openProcesses(given: {
  prefix: string;
  partitions: number;
  retryDelays: string;
}): Promise<Processes> {
  const prefix = `${given.prefix}-${randomUUID().slice(0, 8)}.`;
  const env = {
    KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
    WAYPOST_TOPIC_PREFIX: prefix,
    WAYPOST_PARTITIONS: String(given.partitions),
    WAYPOST_REPLICATION: '1',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_ALLOWED_NETWORKS: '127.0.0.0/8',
    WAYPOST_RETRY_DELAYS: given.retryDelays,
    WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
  };
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const producer = await kafka.producer({ maxPendingBytes: Infinity, deliveryTimeoutMs: 'retry' });
  const admin = kafkajsClient({
    brokers: env.KAFKA_BROKERS.split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
  const sink = await startSink();
  const running: Service[] = [];
  const readers: Processes['readers'] = async (name, topics) => {
    const view = await describeGroup(admin, `${prefix}waypost-${name}`);
    const counts = new Map(topics.map((topic) => [prefix + topic, given.partitions]));
    return { view, unread: view ? unreadPlaces(view, counts) : [] };
  };
  return {
    env,
    prefix,
    kafka,
    producer,
    admin,
    sink,
    async start(name) {
      const [port] = await freePorts(1);
      const service = await startService(name, {
        ...env,
        [`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]: String(port),
      });
      running.push(service);
      return { ...service, port: String(port) };
    },
    readers,
    shared(name, topics, members, except) {
      return eventually(
        async () => {
          const { view, unread } = await readers(name, topics);
          expect([view?.members.length, unread]).toEqual([members, []]);
          const ids = new Set(view!.members.map(({ memberId }) => memberId));
          expect(except && [...ids].every((id) => except.has(id))).not.toBe(true);
          return ids;
        },
        { deadlineMs: 120_000 },
      );
    },
    async allCommitted(name, topic) {
      const groupId = `${prefix}waypost-${name}`;
      await eventually(
        async () => {
          const offsets = await admin.fetchTopicOffsets(prefix + topic);
          const [group] = await admin.fetchOffsets({ groupId, topics: [prefix + topic] });
          const committed = new Map(
            group!.partitions.map(({ partition, offset }) => [partition, offset]),
          );
          expect(committed).toEqual(
            new Map(offsets.map(({ partition, high }) => [partition, high])),
          );
        },
        { deadlineMs: 180_000 },
      );
    },
    async close() {
      await Promise.all(running.map((service) => service.kill()));
      await producer.close(1_000);
      await Promise.all([kafka.close(), admin.disconnect(), sink.close()]);
    },
  };
}

/**
 * Returns the `config` record of a destination with one URL at the receiver, connected to source
 * `src_1`.
 */
export function destinationAt({ sink, env }: Processes, id: string, path: string): OutRecord {
  const encryptor = createEncryptor(requireSecretKeys(loadSettings(env)));
  const url = {
    id: `whk_${id}`,
    origin: sink.url(''),
    headers: {},
    url: encryptor.encrypt(sink.url(path), secretFields.url(id, `whk_${id}`)),
  };
  const data = aDestination({ id, webhooks: [url] });
  return configRecord(
    {
      format: FORMAT,
      version: 1,
      replaces: 0,
      at: AT,
      kind: 'destination',
      id,
      data,
    },
    env,
  );
}

/** @param env the settings of control, which has WAYPOST_SECRET_KEY */
export function configRecord(
  record: ConfigRecord,
  env: Record<string, string | undefined>,
): OutRecord {
  const authenticator = createAuthenticator(requireSecretKeys(loadSettings(env)));
  const value = JSON.stringify(record);
  const key = configKey(record.kind, record.id);
  return { topic: CONFIG, key, value, headers: authenticator.sign(value, {}) };
}
