import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, logLevel } from 'kafkajs';
import { startRetry } from '../../services/retry/assemble';
import { startRouter } from '../../services/router/assemble';
import { openConfig } from '../../shared/config/reader';
import { connectKafka } from '../../shared/kafka/client/client';
import { kafkajsClient } from '../../shared/kafka/client/patches';
import {
  type BatchProducer,
  type Consumption,
  type Kafka,
  type OutRecord,
  type Tail,
} from '../../shared/kafka/port';
import {
  ATTEMPTS,
  CONFIG,
  DUE,
  MESSAGES,
  PROFILE_EVENTS,
  tierTopic,
  WEBHOOKS,
} from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { decodeDelivery, type Delivery, encodeDelivery } from '../../shared/model/delivery';
import { type Message, messageHeaders, messageKey } from '../../shared/model/message';
import { FORMAT } from '../../shared/model/record-format';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { metrics } from '../../shared/telemetry/metrics';
import { renderMetrics } from '../../shared/telemetry/prometheus';
import { type Cluster, startCluster } from '../../tools/chaos/cluster';
import { cutLog } from '../../tools/chaos/log-files';
import { eventually } from '../support/eventually';
import { aDelivery, aDestination } from '../support/factories';
import { aSource } from '../support/fakes';
import { freePorts } from '../support/free-port';
import { startService } from '../support/service';
import { SharedSteps } from '../support/shared-steps';

/**
 * A consumer, and a reader without a group, whose broker loses records that were read: it is killed
 * and its log cut, its disk is replaced by an earlier copy, or a topic is deleted and made again.
 * What was acknowledged afterwards is read, in whatever order the broker, the producer and the
 * reader come back. All tests share one broker and one power cut, and each has topics of its own.
 */

const TOPIC = 'messages';
const RECOVERED_MS = 120_000;
/** For tests that wait for each other. */
const TEST_MS = 400_000;
const log = createLog('test', 'silent');
const throwIt = (error: unknown) => {
  throw error;
};

const dir = mkdtempSync(join(tmpdir(), 'waypost-cut-'));
let cluster: Cluster;
let admin: Admin;
beforeAll(async () => {
  cluster = await startCluster(dir, 1);
  admin = kafkajsClient({
    brokers: cluster.brokers.split(','),
    logLevel: logLevel.NOTHING,
  }).admin();
  await admin.connect();
});

afterAll(async () => {
  await admin.disconnect();
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Topics of one test. */
interface Scene {
  env: Record<string, string>;
  kafka: Kafka;
  producer: BatchProducer;
  /** the errors in the log, and what came with them */
  errors: Record<string, unknown>[];
  close(): Promise<void>;
}

async function openScene(): Promise<Scene> {
  const errors: Record<string, unknown>[] = [];
  const write = (line: string) => errors.push(JSON.parse(line) as Record<string, unknown>);
  const env = {
    KAFKA_BROKERS: cluster.brokers,
    WAYPOST_TOPIC_PREFIX: `cut-${randomUUID().slice(0, 8)}.`,
    WAYPOST_PARTITIONS: '1',
    WAYPOST_REPLICATION: '1',
    WAYPOST_RETRY_DELAYS: '1s,10s,1m',
  };
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'error', { write }),
  });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  return {
    env,
    kafka,
    producer,
    errors,
    close: async () => {
      await producer.close(1_000);
      await kafka.close();
    },
  };
}

/** Runs a test on topics of its own. */
function onTopics(tell: (on: Scene) => Promise<void>): () => Promise<void> {
  return async () => {
    const on = await openScene();
    try {
      await tell(on);
    } finally {
      await on.close();
    }
  };
}

/** The name of a topic of the test at the broker. */
const fullName = ({ env }: Scene, topic: string) => `${env.WAYPOST_TOPIC_PREFIX!}${topic}`;

/** Waits until a group has committed every record of a topic. */
async function allCommitted({ kafka }: Scene, group: string, topic: string): Promise<void> {
  await eventually(async () => {
    const [end] = await kafka.ranges(topic);
    expect(await kafka.committed(group, topic)).toEqual([end!.high]);
  });
}

/** A consumer of topics, which takes nothing while it is busy. */
class Reader {
  readonly seen: string[] = [];
  /** the restarts it was told of, each after a number of records */
  readonly restarts: { from: number; after: number }[] = [];
  isBusy = false;
  #consumption!: Consumption;

  constructor(
    private readonly on: Scene,
    readonly group: string,
    private readonly topics: string[] = [TOPIC],
  ) {}

  async start(): Promise<void> {
    this.#consumption = await this.on.kafka.consume({
      group: this.group,
      topics: this.topics,
      onRecord: (record) => {
        if (this.isBusy) return 'busy';
        this.seen.push(String(record.value));
        record.done();
        return 'accepted';
      },
      onRestart: ({ from }) => this.restarts.push({ from, after: this.seen.length }),
      onFatal: throwIt,
    });
  }

  /** Reads everything, and commits it. */
  async finish(values: readonly string[], topic = TOPIC): Promise<void> {
    await eventually(() => expect(this.seen).toEqual(expect.arrayContaining([...values])), {
      deadlineMs: RECOVERED_MS,
    });
    await allCommitted(this.on, this.group, topic);
  }

  goOn(): void {
    this.isBusy = false;
    this.#consumption.resume();
  }

  stop(): Promise<void> {
    return this.#consumption.stop(5_000);
  }
}

/** Two consumers of a topic: one runs while the log changes, and the other is stopped. */
interface Pair {
  running: Reader;
  stopped: Reader;
  /** Both read everything, and commit it. */
  finish(values: readonly string[]): Promise<void>;
  /** None reads from now on. The one that runs refuses a record, so that nothing is fetched. */
  rest(): Promise<void>;
  goOn(): Promise<void>;
  stop(): Promise<void>;
}

async function startPair(on: Scene, name: string): Promise<Pair> {
  const running = new Reader(on, `${name}-running`);
  const stopped = new Reader(on, `${name}-stopped`);
  await Promise.all([running.start(), stopped.start()]);
  return {
    running,
    stopped,
    finish: async (values) => {
      await Promise.all([running.finish(values), stopped.finish(values)]);
    },
    rest: async () => {
      await stopped.stop();
      running.isBusy = true;
      await on.producer.send(named(['held']));
    },
    goOn: async () => {
      running.goOn();
      await stopped.start();
    },
    stop: async () => {
      await Promise.all([running.stop(), stopped.stop()]);
    },
  };
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}-${String(i)}`);
const named = (values: readonly string[], topic = TOPIC): OutRecord[] =>
  values.map((value) => ({ topic, key: null, value }));

/** Sends records in several batches, so that a log can be cut between them. */
async function sendInBatches({ producer }: Scene, all: readonly OutRecord[]): Promise<void> {
  for (let i = 0; i < all.length; i += 10) await producer.send(all.slice(i, i + 10));
}

function send(on: Scene, values: readonly string[], topic = TOPIC): Promise<void> {
  return sendInBatches(on, named(values, topic));
}

async function endBroker(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const [node] = cluster.nodes;
  process.kill(node!.pid!, signal);
  await eventually(() => expect(node!.pid).toBeUndefined(), { deadlineMs: RECOVERED_MS });
}

const records = () => join(dir, 'node-1', 'records');

/** What happens to the logs of the tests while the broker is down after a power cut. */
const whileDown: (() => void)[] = [];

/** Cuts the log of a topic at the power cut before the batch of this offset. */
function willCut(on: Scene, topic: string, offset: number): void {
  whileDown.push(() => expect(cutLog(records(), `${fullName(on, topic)}-0`, offset)).toBe(offset));
}

const copy = join(dir, 'copy');
/**
 * A power cut, and later a restore of what the disk had then. All tests of a power cut share it.
 */
const faults = new SharedSteps([
  async () => {
    await endBroker('SIGKILL');
    cpSync(records(), copy, { recursive: true });
    for (const change of whileDown) change();
    await cluster.nodes[0]!.start();
  },
  async () => {
    await endBroker('SIGTERM');
    rmSync(records(), { recursive: true });
    cpSync(copy, records(), { recursive: true });
    expect(existsSync(records())).toBe(true);
    await cluster.nodes[0]!.start();
  },
]);

/** Declares a test of the power cut, which `next` waits for. */
function atPowerCut(
  name: string,
  tell: (on: Scene, next: () => Promise<void>) => Promise<void>,
): void {
  test.concurrent(
    name,
    faults.with((next) => onTopics((on) => tell(on, next))()),
    TEST_MS,
  );
}

async function cutOf(group: string, topic = TOPIC): Promise<number> {
  const name = `waypost_log_cut_total{group="${group}",topic="${topic}"} `;
  const line = (await renderMetrics(metrics)).split('\n').find((each) => each.startsWith(name));
  return Number(line?.slice(name.length));
}

atPowerCut(
  'after a power cut a consumer that ran and one that was stopped read what was appended',
  async (on, next) => {
    const pair = await startPair(on, 'cut');
    const before = numbered('before', 100);
    await send(on, before);
    await pair.finish(before);
    await pair.rest();

    willCut(on, TOPIC, 60);
    await next();
    // More than was cut off, before anybody reads.
    const after = numbered('after', 80);
    await send(on, after);
    await pair.goOn();
    await pair.finish(after);
    for (const reader of [pair.running, pair.stopped]) {
      expect(await cutOf(reader.group)).toBeGreaterThanOrEqual(40);
      const about = { group: reader.group, topic: TOPIC, partition: 0 };
      expect(on.errors).toContainEqual(
        expect.objectContaining({ msg: 'consumer.log_cut', ...about }),
      );
      expect(reader.seen.filter((value) => value.startsWith('before'))).toEqual(before);
      expect(reader.restarts).toEqual([{ from: 60, after: reader.seen.indexOf('after-0') }]);
    }
    await pair.stop();
  },
);

atPowerCut(
  'after all data was restored from a copy both read what was appended',
  async (on, next) => {
    const pair = await startPair(on, 'copy');
    const kept = numbered('kept', 100);
    await send(on, kept);
    await pair.finish(kept);
    await next();
    const lost = numbered('lost', 50);
    await send(on, lost);
    await pair.finish(lost);
    await pair.rest();

    // Metadata, commits and epochs are as they were: the same epochs come again.
    await next();
    const after = numbered('after', 120);
    await send(on, after);
    await pair.goOn();
    await pair.finish(after);
    expect(await cutOf(pair.running.group)).toBeGreaterThanOrEqual(50);
    await pair.stop();
  },
);

/**
 * Readers of `config` and of new records run while their topics change and grow beyond what was
 * read, and go on.
 */
async function readersGoOn(
  on: Scene,
  name: string,
  change: (topics: string[]) => Promise<void>,
): Promise<void> {
  const { kafka, producer } = on;
  const config = await openConfig(kafka, { name, log, onFatal: throwIt });
  const names = () => config.list('source').map(({ data }) => data.name);
  const seen: string[] = [];
  const tail = await kafka.tail({
    name: 'test',
    topic: TOPIC,
    from: 'end',
    onRecord: ({ value }) => seen.push(String(value)),
    onFatal: throwIt,
  });
  const before = numbered('before', 50);
  for (const each of before) await producer.send([sourceRecord(each)]);
  await send(on, before);
  await eventually(() => expect(names()).toEqual(before));
  await tail.caughtUp(RECOVERED_MS);
  expect(seen).toEqual(before);

  await change([CONFIG, TOPIC]);
  const after = numbered('after', 70);
  for (const each of after) await producer.send([sourceRecord(each)]);
  await send(on, after);
  await eventually(() => expect(names()).toEqual(expect.arrayContaining(after)), {
    deadlineMs: RECOVERED_MS,
  });
  await eventually(() => expect(seen).toEqual([...before, ...after]), {
    deadlineMs: RECOVERED_MS,
  });
  // What another process reads that starts now.
  const fresh = await openConfig(kafka, { name: 'fresh', log, onFatal: throwIt });
  expect(names()).toEqual(fresh.list('source').map(({ data }) => data.name));
  expect(names().length).toBeLessThan(120);
  await config.refresh(10_000);
  expect(config.position).toBe(fresh.position);
  expect(await cutOf(`${name}-config`, CONFIG)).toBeGreaterThanOrEqual(20);
  for (const about of [
    { name: `${name}-config`, topic: CONFIG },
    { name: 'test', topic: TOPIC },
  ]) {
    expect(on.errors).toContainEqual(expect.objectContaining({ msg: 'tail.log_cut', ...about }));
  }
  await Promise.all([config.stop(), fresh.stop(), tail.stop()]);
}

atPowerCut(
  'running readers, of `config` and of new records, go on after their topic was cut by a power cut',
  (on, next) =>
    readersGoOn(on, 'reader-cut', async (topics) => {
      for (const topic of topics) willCut(on, topic, 30);
      await next();
    }),
);

function sourceRecord(id: string, of?: string): OutRecord {
  return configRecord('source', id, { ...aSource({ id, name: id }), writeKeys: [], of });
}

function configRecord(kind: string, id: string, data: object): OutRecord {
  const at = '2026-11-22T08:00:00.000Z';
  const entry = { format: FORMAT, kind, id, version: 1, replaces: 0, at, data };
  return { topic: CONFIG, key: `${kind}:${id}`, value: JSON.stringify(entry) };
}

/** Sends calls of one user. */
function call(on: Scene, messageIds: readonly string[]): Promise<void> {
  const at = new Date().toISOString();
  const calls = messageIds.map((messageId): OutRecord => {
    const message: Message = {
      type: 'track',
      event: 'Seen',
      messageId,
      userId: 'kim',
      timestamp: at,
      receivedAt: at,
    };
    const headers = messageHeaders('src_1', message, {
      acceptedAtMs: Date.now(),
      traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    });
    const key = messageKey('src_1', message);
    return { topic: MESSAGES, key, value: JSON.stringify(message), headers };
  });
  return sendInBatches(on, calls);
}

/** Reads the deliveries of a topic from its beginning. */
function followDeliveries(
  { kafka }: Pick<Scene, 'kafka'>,
  topic: string,
  onDelivery: (delivery: Delivery) => void,
): Promise<Tail> {
  return kafka.tail({
    name: topic,
    topic,
    from: 'beginning',
    onRecord: ({ headers }) => {
      const decoded = decodeDelivery(headers);
      if (decoded.kind === 'delivery') onDelivery(decoded.delivery);
    },
    onFatal: throwIt,
  });
}

atPowerCut(
  'a call that was cut off, and that its client sends again, is routed again',
  async (on, next) => {
    const { kafka, producer } = on;
    const webhooks = [{ id: 'whk_1', url: 'sealed', origin: 'https://a.example', headers: {} }];
    const destination = aDestination({ id: 'dst_1', sources: ['src_1'], webhooks });
    await producer.send([
      sourceRecord('src_1'),
      configRecord('destination', destination.id, destination),
    ]);
    const config = await openConfig(kafka, { name: 'router', log, onFatal: throwIt });
    const routed: string[] = [];
    const tail = await followDeliveries(on, WEBHOOKS, ({ messageId }) => routed.push(messageId));
    const windowMs = 3_600_000;
    const { consumption } = await startRouter({
      kafka,
      config,
      producer,
      windowMs,
      log,
      onFatal: throwIt,
    });
    const before = numbered('before', 40);
    await call(on, before);
    await eventually(() => expect(routed).toEqual(before), { deadlineMs: RECOVERED_MS });

    willCut(on, MESSAGES, 20);
    await next();
    // Behind the places that they had. The delivery of the one that was cut off may be lost, too.
    const after = numbered('after', 30);
    await call(on, [...after, 'before-5', 'before-35', 'last']);
    await eventually(() => expect(routed).toEqual([...before, ...after, 'before-35', 'last']), {
      deadlineMs: RECOVERED_MS,
    });
    await consumption.stop(5_000);
    await tail.stop();
    await config.stop();
  },
);

for (const topic of [MESSAGES, PROFILE_EVENTS]) {
  atPowerCut(
    `a computed trait counts the calls since a power cut of \`${topic}\``,
    async (on, next) => {
      const { env, kafka, producer } = on;
      const about = { id: 'trt_seen', name: 'seen', key: 'seen', revision: 1, history: [0] };
      const trait = { ...about, source: 'src_own', syncEveryMs: 500, createdAt: '', updatedAt: '' };
      await producer.send([
        sourceRecord('src_1'),
        sourceRecord('src_own', 'trt_seen'),
        configRecord('computed_trait', 'trt_seen', { ...trait, compute: 'count', event: 'Seen' }),
      ]);
      let seen: unknown;
      const tail = await kafka.tail({
        name: 'receiver',
        topic: MESSAGES,
        from: 'beginning',
        onRecord: ({ value }) => {
          const { context, traits } = JSON.parse(String(value)) as Message;
          if (context?.computedTrait !== undefined) seen = traits?.seen;
        },
        onFatal: throwIt,
      });
      const [port] = await freePorts(1);
      const audiences = await startService('audiences', {
        ...env,
        WAYPOST_HOST: '127.0.0.1',
        WAYPOST_AUDIENCES_HEALTH_PORT: String(port),
        WAYPOST_DATA_DIR: join(dir, `audiences-${topic}`),
      });
      // Audiences may write all that it has read in one batch, and a log is cut between batches.
      await call(on, numbered('before', 20));
      await eventually(() => expect(seen).toBe(20), { deadlineMs: RECOVERED_MS });
      await call(on, numbered('later', 20));
      await eventually(() => expect(seen).toBe(40), { deadlineMs: RECOVERED_MS });

      whileDown.push(() =>
        expect(cutLog(records(), `${fullName(on, topic)}-0`, 20)).toBeLessThan(40),
      );
      await next();
      // What was counted stays counted.
      await call(on, numbered('after', 60));
      await eventually(() => expect(seen).toBe(100), { deadlineMs: RECOVERED_MS });
      await audiences.stop();
      await tail.stop();
    },
  );
}

/** Sends deliveries to a destination that nobody knows, which ends them at once. */
function deliver(on: Scene, topic: string, ids: readonly string[]): Promise<void> {
  const deliveries = ids.map((id): OutRecord => {
    const delivery = aDelivery({ id, destinationId: 'dst_unknown', acceptedAt: Date.now() });
    // A record that is in a tier may leave it at once.
    const headers = encodeDelivery({ ...delivery, due: delivery.acceptedAt });
    return { topic, key: 'dst_unknown:0', value: '{}', headers };
  });
  return sendInBatches(on, deliveries);
}

/**
 * Deliveries come out of a topic that is cut: those that were appended since, and one that was cut
 * off and is sent again, because its step may be lost.
 */
async function deliveriesGoOn(
  on: Scene,
  { group, topic, out }: { group: string; topic: string; out: readonly string[] },
  next: () => Promise<void>,
): Promise<void> {
  const before = numbered('before', 40);
  await deliver(on, topic, before);
  await eventually(() => expect(out.toSorted()).toEqual(before.toSorted()), {
    deadlineMs: RECOVERED_MS,
  });
  await allCommitted(on, group, topic);
  willCut(on, topic, 20);
  await next();
  const after = [...numbered('after', 30), 'before-35', 'last'];
  await deliver(on, topic, after);
  await eventually(() => expect(out.toSorted()).toEqual([...before, ...after].toSorted()), {
    deadlineMs: RECOVERED_MS,
  });
}

atPowerCut(
  'after a power cut of `webhooks` delivery ends what comes, also a step that was cut off',
  async (on, next) => {
    const { env, kafka } = on;
    const ended: string[] = [];
    const tail = await kafka.tail({
      name: 'ended',
      topic: ATTEMPTS,
      from: 'beginning',
      onRecord: ({ value }) => {
        for (const event of readEvents(value)) if ('delivery' in event) ended.push(event.delivery);
      },
      onFatal: throwIt,
    });
    const [port] = await freePorts(1);
    const delivery = await startService('delivery', {
      ...env,
      WAYPOST_HOST: '127.0.0.1',
      WAYPOST_DELIVERY_HEALTH_PORT: String(port),
      WAYPOST_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    });
    await deliveriesGoOn(on, { group: 'delivery', topic: WEBHOOKS, out: ended }, next);
    await delivery.stop();
    await tail.stop();
  },
);

atPowerCut(
  'after a power cut of a tier retry returns what comes, also a step that was cut off',
  async (on, next) => {
    const { kafka } = on;
    const returned: string[] = [];
    const tail = await followDeliveries(on, DUE, ({ id }) => returned.push(id));
    const stops: ((deadlineMs: number) => unknown)[] = [];
    await startRetry({
      kafka,
      retryWindowMs: 3_600_000,
      log,
      onFatal: throwIt,
      onStop: (stop) => stops.unshift(stop),
      onConsumption: () => undefined,
    });
    await deliveriesGoOn(on, { group: 'retry', topic: tierTopic(1_000), out: returned }, next);
    for (const stop of stops) await stop(10_000);
    await tail.stop();
  },
);

const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];

async function deleteTopic(on: Scene, topic: string): Promise<void> {
  await admin.deleteTopics({ topics: [fullName(on, topic)] });
  await eventually(async () => expect(await admin.listTopics()).not.toContain(fullName(on, topic)));
}

async function createTopic(on: Scene, topic: string): Promise<void> {
  await eventually(async () => {
    await admin.createTopics({
      topics: [{ topic: fullName(on, topic), numPartitions: 1, configEntries }],
    });
    expect(await admin.listTopics()).toContain(fullName(on, topic));
  });
}

test(
  'running readers, of `config` and of new records, go on after their topic was made again',
  onTopics((on) =>
    readersGoOn(on, 'reader-again', async (topics) => {
      for (const topic of topics) {
        await deleteTopic(on, topic);
        await createTopic(on, topic);
      }
    }),
  ),
);

test(
  'both read a topic that was made again and has grown beyond their position',
  onTopics(async (on) => {
    const pair = await startPair(on, 'again');
    const before = numbered('before', 50);
    await send(on, before);
    await pair.finish(before);
    await pair.rest();

    await deleteTopic(on, TOPIC);
    await createTopic(on, TOPIC);
    const after = numbered('after', 90);
    await send(on, after);
    await pair.goOn();
    await pair.finish(after);
    await pair.stop();
  }),
);

test(
  'a topic that disappears stops no other, and is read once it is there again',
  onTopics(async (on) => {
    const [first, second] = ['webhooks.retry.10s', 'webhooks.retry.1m'] as const;
    const reader = new Reader(on, 'tiers', [first, second]);
    await reader.start();
    await send(on, ['a'], first);
    await reader.finish(['a'], first);
    await deleteTopic(on, second);
    await send(on, ['b'], first);
    await reader.finish(['a', 'b'], first);
    await createTopic(on, second);
    await send(on, ['c'], second);
    await reader.finish(['c'], second);
    await reader.stop();
  }),
);
