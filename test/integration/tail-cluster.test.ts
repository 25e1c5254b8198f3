import { Brokers } from '../../shared/kafka/client/brokers';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Done, Wire } from '../../shared/kafka/client/wire';
import {
  type BatchProducer,
  type Consumption,
  type Kafka,
  type Tail,
} from '../../shared/kafka/port';
import { ByteReader } from '../../shared/kafka/protocol/bytes';
import { FETCH, readFetch } from '../../shared/kafka/protocol/fetch-request';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { metrics } from '../../shared/telemetry/metrics';
import { renderMetrics } from '../../shared/telemetry/prometheus';
import { eventually } from '../support/eventually';
import { startThreeBrokers, type ThreeBrokers } from '../support/three-brokers';

/**
 * Tails and consumers of topics with leaders on three brokers, which they ask separately, consumers
 * near a replica, and both after an unclean election.
 */

const RECORDS = 8_000;
const RECOVERY_MS = 120_000;
const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};

let brokers: ThreeBrokers;
let kafka: Kafka | undefined;
let producer: BatchProducer | undefined;
let tail: Tail | undefined;
let consumption: Consumption | undefined;

beforeAll(async () => {
  brokers = await startThreeBrokers();
}, 300_000);

afterEach(async () => {
  await tail?.stop();
  await consumption?.stop(100);
  await producer?.close(1_000);
  await kafka?.close();
  tail = consumption = producer = kafka = undefined;
});

afterAll(() => brokers.close());

async function connect(
  prefix: string,
  env: Record<string, string> = {},
): Promise<[Kafka, BatchProducer]> {
  const settings = loadSettings({
    ...env,
    KAFKA_BROKERS: brokers.brokers,
    WAYPOST_TOPIC_PREFIX: prefix,
    WAYPOST_PARTITIONS: '3',
    WAYPOST_REPLICATION: '3',
  });
  kafka = await connectKafka(settings, { clientId: 'test', log });
  producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  return [kafka, producer];
}

test('a tail is caught up after all partitions, even if brokers have no records', async () => {
  // One partition is full and all others are empty: during its reads the leaders of empty
  // partitions answer many times.
  await brokers.createTopic('spread.messages', [[1], [2], [3], [1], [2], [3]], 1);
  const [on, writer] = await connect('spread.');
  const record = { topic: 'messages', key: 'same', value: Buffer.alloc(5_000, 'x') };
  await writer.send(Array.from({ length: RECORDS }, () => record));
  for (let round = 0; round < 3; round++) {
    let read = 0;
    const onRecord = () => {
      read++;
    };
    tail = await on.tail({ name: 'test', topic: 'messages', from: 'beginning', onRecord, onFatal });
    await tail.caughtUp(120_000);
    expect(read).toBe(RECORDS);
    // Without new records it stays caught up.
    await tail.caughtUp(60_000);
    await tail.stop();
  }
}, 400_000);

test("a tail started without a partition's leader later reads from its start time", async () => {
  // Given records of two times in each of three partitions, which have no second replica.
  await brokers.createTopic('late.messages', [[1], [2], [3]], 1);
  const [on, writer] = await connect('late.');
  const write = (value: string, partitions = [0, 1, 2]) =>
    writer.send(
      partitions.map((partition) => ({ topic: 'messages', key: null, value, partition })),
    );
  const accepted: number[] = [];
  consumption = await on.consume({
    group: 'test',
    topics: ['messages'],
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
  await eventually(async () => expect(await lagOf('messages')).toBe(6), {
    deadlineMs: RECOVERY_MS,
  });

  // When the third broker is down, the lag of the others still grows, and the last known one of its
  // partition stays.
  await brokers.stopThird('late.config', 0);
  await write('newer', [0, 1]);
  await eventually(async () => expect(await lagOf('messages')).toBe(8), {
    deadlineMs: RECOVERY_MS,
  });

  // A tail that starts now reads the others.
  const read: string[] = [];
  tail = await on.tail({
    name: 'test',
    topic: 'messages',
    from: { sinceMs: since, atMost: 1_000 },
    onFatal,
    onRecord: ({ partition, value }) => read.push(`${String(value)} ${String(partition)}`),
  });
  await tail.caughtUp(RECOVERY_MS);
  expect(read.sort()).toEqual(['new 0', 'new 1', 'newer 0', 'newer 1']);

  // When the broker returns, the tail reads its partition from the start time.
  await brokers.startThird();
  await eventually(() => expect(read).toHaveLength(5), { deadlineMs: RECOVERY_MS });
  await write('newest', [2]);
  await eventually(() => expect(read).toHaveLength(6), { deadlineMs: RECOVERY_MS });
  expect(read.slice(4)).toEqual(['new 2', 'newest 2']);
}, 600_000);

test('a consumer reads from the replica of its rack, or the leader if that is down', async () => {
  // The first broker leads, the third has the consumer's rack.
  await brokers.createTopic('near.messages', [[1, 3, 2]], 1);
  const [on, writer] = await connect('near.', { KAFKA_CLIENT_RACK: 'rack-3' });
  const spied = spyOnFetches();
  const read: string[] = [];
  consumption = await on.consume({
    group: 'test',
    topics: ['messages'],
    onFatal,
    onRecord: ({ value }) => {
      read.push(String(value));
      return 'accepted';
    },
  });
  const written: string[] = [];
  const write = async (value: string) => {
    written.push(value);
    await writer.send([{ topic: 'messages', key: null, value }]);
  };
  const arrives = () =>
    eventually(() => expect(read).toEqual(written), { deadlineMs: RECOVERY_MS });
  try {
    await write('first');
    await arrives();
    // Until the leader knows that the replica has caught up, it answers itself.
    await eventually(async () => {
      spied.nodes.clear();
      await write('near');
      await arrives();
      expect([...spied.nodes]).toEqual([3]);
    });

    await brokers.stopThird('near.messages', 0);
    await write('from the leader');
    await arrives();
    expect(spied.nodes).toContain(1);
    await brokers.startThird();
  } finally {
    spied.end();
  }
}, 400_000);

test('after an unclean election what is written then is read, and what was lost is told', async () => {
  // Given a replica on the third broker that lacks the newest records.
  const replicas = [[1, 3]];
  await brokers.createTopic('unclean.messages', replicas, 1, {
    'unclean.leader.election.enable': 'true',
  });
  const [on, writer] = await connect('unclean.');
  const read: string[] = [];
  const tailed: string[] = [];
  const cuts: number[] = [];
  consumption = await on.consume({
    group: 'unclean',
    topics: ['messages'],
    onFatal,
    onRecord: (record) => {
      read.push(String(record.value));
      record.done();
      return 'accepted';
    },
    onCut: ({ from }) => cuts.push(from),
  });
  tail = await on.tail({
    name: 'unclean',
    topic: 'messages',
    from: 'end',
    onFatal,
    onRecord: ({ value }) => tailed.push(String(value)),
  });
  const written: string[] = [];
  const write = async (name: string, count: number) => {
    for (let i = 0; i < count; i++) {
      const value = `${name} ${String(i)}`;
      await writer.send([{ topic: 'messages', key: null, value }]);
      written.push(value);
    }
    await eventually(() => expect([read, tailed]).toEqual([written, written]), {
      deadlineMs: RECOVERY_MS,
    });
  };
  await write('kept', 20);
  await brokers.stopThird('unclean.messages', 0);
  await write('lost', 20);

  // When only that broker is left, it leads.
  await brokers.killFirst();
  await brokers.startThird();
  await write('after', 50);
  expect(cuts).toEqual([20]);
}, 600_000);

/** Notes the brokers from which the consumer fetches records. */
function spyOnFetches(): { nodes: Set<number>; end: () => void } {
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
        if (partitions.some(({ records }) => records.length > 0)) nodes.add(nodeOf.get(this)!);
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

async function lagOf(topic: string): Promise<number> {
  const text = await renderMetrics(metrics);
  const sample = new RegExp(`^waypost_consumer_lag{.*topic="${topic}".*} (\\d+)$`, 'm').exec(text);
  return Number(sample?.[1] ?? 0);
}
