import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKafka } from '../../shared/kafka/client';
import { type Kafka, type Tail } from '../../shared/kafka/port';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';
import { type Cluster, startCluster } from '../../tools/chaos/cluster';

/** A tail of a topic with leaders on three brokers, which it asks separately. */

const RECORDS = 8_000;
const PARTITIONS = 6;

let dir: string;
let cluster: Cluster;
let kafka: Kafka;
let tail: Tail | undefined;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-tail-'));
  cluster = await startCluster(dir, 3);
  const settings = loadSettings({
    KAFKA_BROKERS: cluster.brokers,
    WAYPOST_PARTITIONS: String(PARTITIONS),
    WAYPOST_REPLICATION: '1',
  });
  kafka = await connectKafka(settings, { clientId: 'test', log: createLog('test', 'silent') });
}, 300_000);
afterAll(async () => {
  await tail?.stop();
  await kafka.close();
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});

test('a tail is caught up only once all partitions are read, though some brokers have no records', async () => {
  // One partition is full and all others are empty: the leaders of empty partitions answer many times meanwhile.
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  const record = { topic: 'messages', key: 'same', value: Buffer.alloc(5_000, 'x') };
  await producer.send(Array.from({ length: RECORDS }, () => record));
  for (let round = 0; round < 3; round++) {
    let read = 0;
    const onFatal = (error: unknown) => {
      throw error;
    };
    const onRecord = () => {
      read++;
    };
    tail = await kafka.tail({ name: 'test', topic: 'messages', from: 'beginning', onRecord, onFatal });
    await tail.caughtUp(120_000);
    expect(read).toBe(RECORDS);
    // Without new records it stays caught up.
    await tail.caughtUp(60_000);
    await tail.stop();
    tail = undefined;
  }
  await producer.close(1_000);
}, 400_000);
