import { randomBytes } from 'node:crypto';
import { createEncryptor } from '../../shared/config/encryption';
import { secretFields } from '../../shared/model/secret-fields';
import { type ConfigRecord, type Destination } from '../../shared/model/config';
import { Brokers } from '../../shared/kafka/client/brokers';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Done, Wire } from '../../shared/kafka/client/wire';
import { type BatchProducer, type Kafka, type OutRecord } from '../../shared/kafka/port';
import { ByteReader } from '../../shared/kafka/protocol/bytes';
import { FETCH, readFetch } from '../../shared/kafka/protocol/fetch-request';
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
import { SharedSteps } from '../support/shared-steps';
import { type ReceivedRequest, type Sink, startSink } from '../../tools/harness/sink';
import { startThreeBrokers, type ThreeBrokers } from '../support/three-brokers';
import { readTopic } from '../support/topics';
import { FORMAT, FORMAT_HEADER } from '../../shared/model/record-format';

/**
 * Services, producers, consumers and tails on three brokers, of which the third one stops and
 * returns, and the first one is lost with what only it has.
 */

const AT = '2026-11-21T08:00:00.000Z';
const RECOVERY_MS = 120_000;
/** Longer than the brokers together take to stop and to return. */
const TEST_MS = 600_000;
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};

/** Ten partitions: two of them have their second replica on the third broker. */
const LACKING = [4, 9];
const REPLICAS = Array.from({ length: 10 }, (_, partition) => [
  1 + (partition % 2),
  LACKING.includes(partition) ? 3 : 2 - (partition % 2),
]);

let brokers: ThreeBrokers;
let sink: Sink;

beforeAll(async () => {
  [brokers, sink] = await Promise.all([startThreeBrokers(), startSink()]);
}, 300_000);

afterAll(async () => {
  await sink.close();
  await brokers.close();
});

/** The third broker stops once it is in sync with these partitions. */
const onThird: [topic: string, partition: number][] = [];
const outage = new SharedSteps([() => brokers.stopThird(onThird), () => brokers.startThird()]);

interface SceneSpec {
  prefix: string;
  /** The brokers (1 to 3) of each partition of its topics. The other topics have all three. */
  topics?: Record<string, number[][]>;
  /** settings of these topics */
  topicSettings?: Record<string, string>;
  rack?: string;
}

interface OutageSpec extends SceneSpec {
  /** a partition that the third broker leads or copies */
  onThird: [topic: string, partition: number];
}

/**
 * Declares a test of the third broker's outage, which all of these tests share.
 * @param tell calls `next`: the third broker is down after the first call, and has returned after
 *   the second one
 */
function duringOutage(
  name: string,
  spec: OutageSpec,
  tell: (on: Scene, next: () => Promise<void>) => Promise<void>,
): void {
  const whole = outage.with((next) =>
    within(spec, (on) => {
      const [topic, partition] = spec.onThird;
      onThird.push([spec.prefix + topic, partition]);
      return tell(on, next);
    }),
  );
  test.concurrent(name, whole, TEST_MS);
}

/** Sets a scene up, and closes it whatever happens. */
async function within(spec: SceneSpec, tell: (on: Scene) => Promise<void>): Promise<void> {
  const on = await setUp(spec);
  try {
    await tell(on);
  } finally {
    await on.close();
  }
}

duringOutage(
  'without a third broker calls arrive once while two partitions lack replicas',
  {
    prefix: 'lacking.',
    topics: { [MESSAGES]: REPLICAS, [WEBHOOKS]: REPLICAS, [ATTEMPTS]: REPLICAS },
    onThird: [MESSAGES, LACKING[0]!],
  },
  async (on, next) => {
    // Deliveries that do not fit into a lane come back through the tiers.
    await Promise.all((['router', 'delivery', 'retry', 'ingest'] as const).map(on.start));
    await sendAll(on, 'before');

    // When the third broker is down, every call arrives although the broker stays down.
    await next();
    const atOutage = await endsOf(on);
    await sendAll(on, 'during');
    expect(grown(atOutage, await endsOf(on))).toEqual([0, 1, 2, 3, 5, 6, 7, 8]);
    // What delivery writes about them does not wait for the broker either.
    await eventually(async () => expect(await oldestOf(on)).toBe(0), { deadlineMs: 30_000 });

    // When it returns, the two partitions accept records again.
    await next();
    let sent = 0;
    await eventually(
      async () => {
        await sendAll(on, `after-${String(++sent)}`);
        const all = REPLICAS.map((_, partition) => partition);
        expect(grown(atOutage, await endsOf(on))).toEqual(all);
      },
      { deadlineMs: RECOVERY_MS },
    );

    // No call was delivered twice, and no record was written twice.
    const arrived = on.received().map(messageIdOf);
    expect(arrived).toHaveLength(new Set(arrived).size);
    for (const topic of [MESSAGES, WEBHOOKS]) {
      expect((await idsOf(on, topic)).sort()).toEqual(arrived.sort());
    }
  },
);

duringOutage(
  'a router that starts while a partition lacks a leader reads that one later',
  { prefix: 'leaderless.', topics: { [MESSAGES]: [[1], [2], [3]] }, onThird: [CONFIG, 0] },
  async (on, next) => {
    await on.producer.send(['a', 'b', 'c'].map((id, partition) => ({ ...message(id), partition })));
    await next();
    await Promise.all([on.start('router'), on.start('delivery')]);
    const arrived = () => on.received().map(messageIdOf).sort();
    await eventually(() => expect(arrived()).toEqual(['a', 'b']), { deadlineMs: RECOVERY_MS });
    await next();
    await eventually(() => expect(arrived()).toEqual(['a', 'b', 'c']), {
      deadlineMs: RECOVERY_MS,
    });
  },
);

duringOutage(
  'records of partitions that lack replicas are held, and written once and in order',
  { prefix: 'held.', topics: { [WEBHOOKS]: REPLICAS }, onThird: [WEBHOOKS, LACKING[0]!] },
  async (on, next) => {
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

    await next();
    const rounds = ['first', 'second', 'third'].flatMap(write);
    const othersAreDone = (writings: typeof rounds) =>
      eventually(() => expect(writings.every(({ isHeld, isDone }) => isHeld || isDone)).toBe(true));
    await othersAreDone(rounds);
    await eventually(async () => expect(await blockedPartitions()).toBe(LACKING.length));
    const later = write('later');
    await othersAreDone(later);
    const all = [...rounds, ...later];
    expect(all.filter(({ isHeld, isDone }) => isHeld && isDone)).toEqual([]);

    await next();
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
  },
);

duringOutage(
  "a tail started without a partition's leader later reads from its start time",
  { prefix: 'late.', topics: { [MESSAGES]: [[1], [2], [3]] }, onThird: [CONFIG, 0] },
  async (on, next) => {
    // Given records of two times in each of three partitions, which have no second replica.
    const write = (value: string, partitions = [0, 1, 2]) =>
      on.producer.send(
        partitions.map((partition) => ({ topic: MESSAGES, key: null, value, partition })),
      );
    const accepted: number[] = [];
    const consumption = await on.kafka.consume({
      group: 'late',
      topics: [MESSAGES],
      onFatal,
      onRecord: (record) => {
        accepted.push(record.timestampMs);
        return 'accepted';
      },
    });
    await write('old');
    await eventually(() => expect(accepted).toHaveLength(3), { deadlineMs: RECOVERY_MS });
    const since = 1 + Math.max(...accepted);
    await eventually(() => expect(Date.now()).toBeGreaterThan(since));
    await write('new');
    await eventually(async () => expect(await lagOf('late')).toBe(6), { deadlineMs: RECOVERY_MS });

    // When the third broker is down, the lag of the others still grows, and the last known one of
    // its partition stays.
    await next();
    await write('newer', [0, 1]);
    await eventually(async () => expect(await lagOf('late')).toBe(8), { deadlineMs: RECOVERY_MS });

    // A tail that starts now reads the others.
    const read: string[] = [];
    const tail = await on.kafka.tail({
      name: 'test',
      topic: MESSAGES,
      from: { sinceMs: since, atMost: 1_000 },
      onFatal,
      onRecord: ({ partition, value }) => read.push(`${String(value)} ${String(partition)}`),
    });
    await tail.caughtUp(RECOVERY_MS);
    expect(read.sort()).toEqual(['new 0', 'new 1', 'newer 0', 'newer 1']);

    // When the broker returns, the tail reads its partition from the start time.
    await next();
    await eventually(() => expect(read).toHaveLength(5), { deadlineMs: RECOVERY_MS });
    await write('newest', [2]);
    await eventually(() => expect(read).toHaveLength(6), { deadlineMs: RECOVERY_MS });
    expect(read.slice(4)).toEqual(['new 2', 'newest 2']);
    await tail.stop();
    await consumption.stop(100);
  },
);

duringOutage(
  'a consumer reads from the replica of its rack, or the leader if that is down',
  // The first broker leads, the third has the consumer's rack.
  {
    prefix: 'near.',
    topics: { [MESSAGES]: [[1, 3, 2]] },
    onThird: [MESSAGES, 0],
    rack: 'rack-3',
  },
  async (on, next) => {
    const spied = spyOnFetches('near: ');
    const read: string[] = [];
    const consumption = await on.kafka.consume({
      group: 'near',
      topics: [MESSAGES],
      onFatal,
      onRecord: ({ value }) => {
        read.push(String(value));
        return 'accepted';
      },
    });
    const written: string[] = [];
    const write = async (name: string) => {
      const value = `near: ${name}`;
      written.push(value);
      await on.producer.send([{ topic: MESSAGES, key: null, value }]);
    };
    const arrives = () =>
      eventually(() => expect(read).toEqual(written), { deadlineMs: RECOVERY_MS });
    try {
      await write('first');
      await arrives();
      // Until the leader knows that the replica has caught up, it answers itself.
      await eventually(async () => {
        spied.nodes.clear();
        await write('again');
        await arrives();
        expect([...spied.nodes]).toEqual([3]);
      });

      await next();
      await write('from the leader');
      await arrives();
      expect(spied.nodes).toContain(1);
    } finally {
      spied.end();
    }
    await consumption.stop(100);
  },
);

const RECORDS = 4_000;

test('a tail is caught up after all partitions, even if brokers have no records', () => {
  // One partition is full and all others are empty: during its reads the leaders of empty
  // partitions answer many times.
  const replicas = [[1], [2], [3], [1], [2], [3]];
  const spec = { prefix: 'spread.', topics: { [MESSAGES]: replicas } };
  return within(spec, async (on) => {
    const record = { topic: MESSAGES, key: 'same', value: Buffer.alloc(5_000, 'x') };
    await on.producer.send(Array.from({ length: RECORDS }, () => record));
    for (let round = 0; round < 2; round++) {
      let read = 0;
      const tail = await on.kafka.tail({
        name: 'test',
        topic: MESSAGES,
        from: 'beginning',
        onRecord: () => {
          read++;
        },
        onFatal,
      });
      await tail.caughtUp(120_000);
      expect(read).toBe(RECORDS);
      // Without new records it stays caught up.
      await tail.caughtUp(60_000);
      await tail.stop();
    }
  });
}, 400_000);

// The last one: the first broker does not return.
test('after an unclean election what is written then is read, and what was lost is told', () => {
  const spec = {
    prefix: 'unclean.',
    topics: { [MESSAGES]: [[1, 3]] },
    topicSettings: { 'unclean.leader.election.enable': 'true', 'min.insync.replicas': '1' },
  };
  return within(spec, async (on) => {
    // Given a replica on the third broker that lacks the newest records.
    const read: string[] = [];
    const tailed: string[] = [];
    const cuts: number[] = [];
    const consumption = await on.kafka.consume({
      group: 'unclean',
      topics: [MESSAGES],
      onFatal,
      onRecord: (record) => {
        read.push(String(record.value));
        record.done();
        return 'accepted';
      },
      onRestart: ({ from }) => cuts.push(from),
    });
    const tail = await on.kafka.tail({
      name: 'unclean',
      topic: MESSAGES,
      from: 'end',
      onFatal,
      onRecord: ({ value }) => tailed.push(String(value)),
    });
    const written: string[] = [];
    const write = async (name: string, count: number) => {
      for (let i = 0; i < count; i++) {
        const value = `${name} ${String(i)}`;
        await on.producer.send([{ topic: MESSAGES, key: null, value }]);
        written.push(value);
      }
      await eventually(() => expect([read, tailed]).toEqual([written, written]), {
        deadlineMs: RECOVERY_MS,
      });
    };
    await write('kept', 20);
    await brokers.stopThird([[`unclean.${MESSAGES}`, 0]]);
    await write('lost', 20);

    // When only that broker is left, it leads.
    await brokers.killFirst();
    await brokers.startThird();
    await brokers.electThird(`unclean.${MESSAGES}`, 0);
    await write('after', 50);
    expect(cuts).toEqual([20]);
    await tail.stop();
    await consumption.stop(100);
  });
}, 600_000);

/** Returns the number of partitions of `webhooks` that this process cannot write. */
async function blockedPartitions(): Promise<number> {
  const sample = new RegExp(`^waypost_producer_blocked{.*name="${WEBHOOKS}".*} (\\d+)$`, 'm');
  return Number(sample.exec(await renderMetrics(metrics))?.[1] ?? 0);
}

/** Topics of its own, and services on them. */
interface Scene {
  ingestPort: number;
  kafka: Kafka;
  producer: BatchProducer;
  /** by service */
  healthPorts: Map<string, number>;
  /** the requests at the receiver of its destination */
  received(): ReceivedRequest[];
  start: (name: 'ingest' | 'router' | 'delivery' | 'retry') => Promise<void>;
  close(): Promise<void>;
}

async function setUp(spec: SceneSpec): Promise<Scene> {
  const { prefix, topics = {}, topicSettings = {}, rack = '' } = spec;
  for (const [name, replicas] of Object.entries(topics)) {
    const minInSync = Math.min(2, replicas[0]!.length);
    await brokers.createTopic(prefix + name, replicas, minInSync, topicSettings);
  }
  const [ingestPort = 0] = await freePorts(1);
  const env = {
    KAFKA_BROKERS: brokers.brokers,
    KAFKA_CLIENT_RACK: rack,
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
  const kafka = await connectKafka(loadSettings(env), { clientId: 'test', log });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  const path = `/${prefix}`;
  await producer.send(configOf(env, path));
  const running: Service[] = [];
  const healthPorts = new Map<string, number>();
  const start = async (name: string) => {
    const [port = 0] = await freePorts(1);
    healthPorts.set(name, port);
    const health = { [`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]: String(port) };
    running.push(await startService(name as 'router', { ...env, ...health }));
  };
  return {
    ingestPort,
    kafka,
    producer,
    healthPorts,
    received: () => sink.received(path),
    start,
    close: async () => {
      await Promise.all(running.map((service) => service.kill()));
      await producer.close(1_000);
      await kafka.close();
    },
  };
}

/** @param path of its destination at the receiver */
function configOf(env: Record<string, string>, path: string): OutRecord[] {
  const encryptor = createEncryptor(requireSecretKeys(loadSettings(env)));
  const url = {
    id: 'whk_1',
    origin: sink.url(''),
    headers: {},
    url: encryptor.encrypt(sink.url(path), secretFields.url('dst_1', 'whk_1')),
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

const SINGLES = 100;
const BATCHES = 3;

/** Sends single calls and batches of 100 users, and waits until all are delivered. */
async function sendAll(on: Scene, round: string): Promise<void> {
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
      const arrived = new Set(on.received().map(messageIdOf));
      expect(calls.map(({ messageId }) => messageId).filter((id) => !arrived.has(id))).toEqual([]);
    },
    { deadlineMs: RECOVERY_MS },
  );
}

async function post({ ingestPort }: Scene, path: string, body: unknown): Promise<number> {
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
async function oldestOf({ healthPorts }: Scene): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${String(healthPorts.get('delivery'))}/metrics`);
  const oldest = /^waypost_producer_oldest_seconds(?:\{.*\})? (\S+)$/gm;
  return Math.max(...[...(await answer.text()).matchAll(oldest)].map(([, value]) => Number(value)));
}

/** Returns the end offset of each partition of `messages`. */
async function endsOf({ kafka }: Scene): Promise<number[]> {
  const ends: number[] = [];
  for (const { partition, high } of await kafka.ranges(MESSAGES)) ends[partition] = high;
  return ends;
}

/** Returns the partitions that have more records than before. */
function grown(before: readonly number[], now: readonly number[]): number[] {
  return now.flatMap((end, partition) => (end > before[partition]! ? [partition] : []));
}

/** Returns the message id of each record of a topic. */
async function idsOf({ kafka }: Scene, topic: string): Promise<string[]> {
  return (await readTopic(kafka, topic)).map(({ headers }) => headers.message ?? '');
}

/** Notes the brokers from which records are fetched whose value begins so. */
function spyOnFetches(value: string): { nodes: Set<number>; end: () => void } {
  const nodes = new Set<number>();
  const nodeOf = new WeakMap<Wire, number>();

  const [{ wireTo }, { send }] = [Brokers.prototype, Wire.prototype];
  const toNode = jest.spyOn(Brokers.prototype, 'wireTo').mockImplementation(async function (
    this: Brokers,
    node,
    index,
  ) {
    const wire = await wireTo.call(this, node, index);
    nodeOf.set(wire, node);
    return wire;
  });
  const sent = jest.spyOn(Wire.prototype, 'send').mockImplementation(function (
    this: Wire,
    api,
    write,
    done,
    timeoutMs,
  ) {
    const noted: Done = (error, from) => {
      if (!error && api === FETCH) {
        const { partitions } = readFetch(new ByteReader(from.buffer, from.at));
        const records = partitions.flatMap((partition) => partition.records);
        if (records.some((record) => String(record.value).startsWith(value))) {
          nodes.add(nodeOf.get(this)!);
        }
      }
      done(error, from);
    };
    send.call(this, api, write, noted, timeoutMs);
  });
  const end = () => {
    toNode.mockRestore();
    sent.mockRestore();
  };
  return { nodes, end };
}

async function lagOf(group: string): Promise<number> {
  const text = await renderMetrics(metrics);
  const sample = new RegExp(`^waypost_consumer_lag{.*group="${group}".*} (\\d+)$`, 'm').exec(text);
  return Number(sample?.[1] ?? 0);
}
