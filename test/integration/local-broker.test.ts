import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { type Broker } from '../../dev/kafka/broker';
import { storedPorts } from '../../dev/stored-ports';
import { findKafka, type Launch } from '../../dev/kafka/kafka-source';
import { waitForKafka } from '../../shared/kafka/client/connection';
import { eventually } from '../support/eventually';
import { freePort } from '../support/free-port';

/** The embedded broker: files and address that one start leaves to the next. */

const READY_MS = 120_000;
let dir: string;
let launch: Launch;
const launched: Broker[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-broker-'));
  launch = await findKafka(() => undefined);
});
afterAll(async () => {
  await Promise.all(launched.map((broker) => broker.discard()));
  rmSync(dir, { recursive: true, force: true });
});

async function start(): Promise<Broker> {
  const broker = await launch({ dir, open: true });
  launched.push(broker);
  await broker.ready(READY_MS);
  return broker;
}

const client = (broker: Broker) =>
  new Kafka({ brokers: [broker.address], logLevel: logLevel.NOTHING });

async function produce(broker: Broker, value: string): Promise<void> {
  const producer = client(broker).producer();
  await producer.connect();
  await producer.send({ topic: 'kept', acks: -1, messages: [{ value }] });
  await producer.disconnect();
}

/**
 * Waits until the topic ends at this offset: a broker answers a moment before it leads its
 * partitions.
 */
async function endsAt(broker: Broker, offset: string): Promise<void> {
  const admin = client(broker).admin();
  await admin.connect();
  await eventually(async () =>
    expect(await admin.fetchTopicOffsets('kept')).toMatchObject([{ high: offset }]),
  );
  await admin.disconnect();
}

test('records and address survive a stop, a SIGKILL and a broker left running', async () => {
  const first = await start();
  await first.archiveClasses(true);
  const admin = client(first).admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: 'kept', numPartitions: 1 }] });
  await admin.disconnect();
  await produce(first, 'one');
  await first.stop(20_000);

  const second = await start();
  expect(second.address).toBe(first.address);
  if (process.platform === 'linux') {
    expect(readFileSync(`/proc/${String(second.pid)}/maps`, 'utf8')).toContain('/classes-');
  }
  await endsAt(second, '1');
  await produce(second, 'two');
  second.kill();
  await second.ended;

  const third = await start();
  await endsAt(third, '2');

  // The third broker still runs: the next start on its folder must stop it.
  const fourth = await start();
  await third.ended;
  expect(fourth.address).toBe(first.address);
  await endsAt(fourth, '2');
  await fourth.stop(20_000);

  const properties = readFileSync(join(dir, 'server.properties'), 'utf8');
  expect(properties).toContain('auto.create.topics.enable=false');
  expect(Number(/offsets\.retention\.minutes=(\d+)/.exec(properties)?.[1])).toBeGreaterThanOrEqual(
    43_200,
  );
}, 600_000);

test('a broker keeps its ports, unless another program has taken one', async () => {
  const own = mkdtempSync(join(tmpdir(), 'waypost-ports-'));
  const first = await storedPorts(own);
  expect(await storedPorts(own)).toEqual(first);
  const other = createServer().listen(first.broker, '127.0.0.1');
  await once(other, 'listening');
  expect((await storedPorts(own)).broker).not.toBe(first.broker);
  other.close();
  rmSync(own, { recursive: true });
});

test('an unreachable broker causes an error of one sentence', async () => {
  const brokers = [`127.0.0.1:${String(await freePort())}`];
  await expect(waitForKafka({ brokers }, 500)).rejects.toThrow(
    /^Kafka cannot be reached at 127\.0\.0\.1:\d+: .*\.$/,
  );
});
