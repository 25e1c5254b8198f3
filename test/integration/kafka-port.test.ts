import { randomUUID } from 'node:crypto';
import { AssignerProtocol, Kafka as KafkaJs, logLevel, type PartitionAssigner } from 'kafkajs';
import { brokerClock } from '../../shared/kafka/broker-clock';
import { connectKafka } from '../../shared/kafka/client/client';
import { inspectOffsets } from '../../shared/kafka/client/topic-report';
import {
  type Consumption,
  type Kafka,
  type OpenRecord,
  type OutRecord,
} from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { metrics } from '../../shared/telemetry/metrics';
import { renderMetrics } from '../../shared/telemetry/prometheus';
import { eventually } from '../support/eventually';

const prefix = `port-${randomUUID().slice(0, 8)}.`;
const settings = loadSettings({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS,
  WAYPOST_TOPIC_PREFIX: prefix,
  WAYPOST_PARTITIONS: '4',
  WAYPOST_REPLICATION: '1',
});
const log = createLog('test', 'silent');
const fatal = (error: unknown) => {
  throw error;
};

const opened: Kafka[] = [];
async function connect(): Promise<Kafka> {
  const kafka = await connectKafka(settings, { clientId: 'test', log });
  opened.push(kafka);
  return kafka;
}
/** Consumers that failed tests leave open: they would keep jest from ending. */
const running = new Set<Consumption>();
afterAll(async () => {
  await Promise.all([...running].map((consumption) => consumption.stop(0)));
  await Promise.all(opened.map((kafka) => kafka.close()));
});

const records = (topic: string, count: number, bytes = 100): OutRecord[] =>
  Array.from({ length: count }, (_, i) => ({
    topic,
    key: `k${String(i)}`,
    value: Buffer.alloc(bytes, 'x'),
  }));

describe('a batch producer', () => {
  test("writes records in requests within the broker's size limit, then resolves", async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const seen: number[] = [];
    const tail = await kafka.tail({
      name: 'all',
      topic: 'messages',
      from: 'beginning',
      onRecord: (record) => seen.push(record.offset),
      onFatal: fatal,
    });
    // 5 MB together, most of it for one partition: more than one request may carry.
    await Promise.all([
      producer.send(records('messages', 2_000, 1_000)),
      producer.send(
        Array.from({ length: 3_000 }, () => ({
          topic: 'messages',
          key: 'same',
          value: Buffer.alloc(1_000),
        })),
      ),
    ]);
    expect(producer.pendingBytes).toBe(0);
    expect(producer.oldestPendingAt).toBeUndefined();
    await tail.caughtUp(60_000);
    expect(seen).toHaveLength(5_000);
    await tail.stop();
    await producer.close(1_000);
  });

  test('refuses records beyond its limit at once, and an oversized one by itself', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 50_000, deliveryTimeoutMs: 'retry' });
    const first = producer.send(records('messages', 300));
    await expect(producer.send(records('messages', 300))).rejects.toMatchObject({
      code: 'overloaded',
      retriable: true,
    });
    await first;
    const large = producer.send([
      { topic: 'messages', key: 'large', value: Buffer.alloc(1_200_000) },
    ]);
    const neighbour = producer
      .send([{ topic: 'messages', key: 'n', value: 'x' }])
      .catch((error: unknown) => error);
    await expect(large).rejects.toMatchObject({ code: 'kafka_refused', retriable: false });
    await neighbour;
    await producer.send(records('messages', 1));
    await producer.close(1_000);
  });
});

test('the timestamp of one written record corrects the broker clock', async () => {
  // The clock is an hour ahead, which reads alone cannot detect.
  brokerClock.read(Date.now() + 3_600_000);
  const kafka = await connect();
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 'retry' });
  await producer.send([{ topic: 'messages', key: 'clock', value: '{}' }]);
  expect(Math.abs(brokerClock.now() - Date.now())).toBeLessThan(60_000);
  await producer.close(1_000);
});

describe('a tail', () => {
  test('is caught up after all records of the time of the call, also without any', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const keys: string[] = [];
    const tail = await kafka.tail({
      name: 'config',
      topic: 'config',
      from: 'beginning',
      onRecord: (record) => keys.push(String(record.key)),
      onFatal: fatal,
    });
    await tail.caughtUp(60_000);
    expect(keys).toEqual([]);
    for (let i = 0; i < 5; i++) {
      await producer.send([{ topic: 'config', key: `entry-${String(i)}`, value: '{}' }]);
      await tail.caughtUp(60_000);
      expect(keys.at(-1)).toBe(`entry-${String(i)}`);
    }
    await tail.stop();
    await producer.close(1_000);
  });

  test('from the end gets records written after it was opened, and no earlier ones', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(records('attempts', 20));
    const seen: string[] = [];
    const tail = await kafka.tail({
      name: 'attempts',
      topic: 'attempts',
      from: 'end',
      onRecord: (record) => seen.push(String(record.key)),
      onFatal: fatal,
    });
    await producer.send([{ topic: 'attempts', key: 'after', value: '1' }]);
    await eventually(() => expect(seen).toEqual(['after']));
    await tail.stop();
    await producer.close(1_000);
  });
});

describe('reading at a given offset', () => {
  const written = Array.from({ length: 50 }, (_, i) => ({
    topic: 'webhooks.dead',
    key: 'one',
    value: `v${String(i)}`,
  }));

  test('returns the record at the offset, records after it, and the end', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(written.map((record) => ({ ...record, headers: { n: record.value } })));
    const held = (await kafka.ranges('webhooks.dead')).filter(({ low, high }) => high > low);
    expect(held).toMatchObject([{ low: 0, high: 50 }]);
    const { partition } = held[0]!;
    const at = { topic: 'webhooks.dead', partition, maxBytes: 100_000 };
    const fetched = await kafka.read({ ...at, offset: 7 });
    expect(fetched).toMatchObject({ end: 50, gone: false });
    expect(fetched.records[0]).toMatchObject({ topic: 'webhooks.dead', partition, offset: 7 });
    expect([String(fetched.records[0]!.value), String(fetched.records[0]!.headers.n)]).toEqual([
      'v7',
      'v7',
    ]);
    expect(fetched.records[0]!.timestampMs).toBeGreaterThan(Date.now() - 60_000);
    expect(fetched.next).toBe(fetched.records.at(-1)!.offset + 1);
    expect(await kafka.read({ ...at, offset: 50 })).toEqual({
      records: [],
      next: 50,
      end: 50,
      gone: false,
      era: fetched.era,
    });
    expect(await kafka.read({ ...at, offset: 51 })).toMatchObject({ records: [], gone: true });
    await producer.close(1_000);
  });

  test('finds the first offset of a time', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(records('webhooks.retry.15m', 20));
    const before = await kafka.ranges('webhooks.retry.15m');
    const since = Date.now() + 1;
    // The broker uses this machine's clock: the next record must have a later millisecond.
    await eventually(() => expect(Date.now()).toBeGreaterThan(since));
    expect(await kafka.ranges('webhooks.retry.15m', since)).toEqual(
      before.map((range) => ({ ...range, low: range.high })),
    );
    await producer.send([{ topic: 'webhooks.retry.15m', key: 'later', value: 'x' }]);
    const after = (await kafka.ranges('webhooks.retry.15m', since)).filter(
      ({ low, high }) => high > low,
    );
    expect(after).toHaveLength(1);
    expect(after[0]!.high - after[0]!.low).toBe(1);
    await producer.close(1_000);
  });
});

describe('a consumer group', () => {
  interface Member {
    consumption: Consumption;
    seen: string[];
    held: OpenRecord[];
    holding: boolean;
  }

  async function join(group: string, topic: string): Promise<Member> {
    const kafka = await connect();
    const member: Member = {
      consumption: undefined as unknown as Consumption,
      seen: [],
      held: [],
      holding: false,
    };
    member.consumption = await kafka.consume({
      group,
      topics: [topic],
      onFatal: fatal,
      onRecord: (record) => {
        member.seen.push(`${String(record.partition)}/${String(record.offset)}`);
        if (member.holding) member.held.push(record);
        else record.done();
        return 'accepted';
      },
    });
    await eventually(() => expect(member.consumption.joined).toBe(true));
    return member;
  }

  test('a member of a group without commits gets its share, even of an empty topic', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const first = await join('fresh', 'webhooks.retry.30m');
    const second = await join('fresh', 'webhooks.retry.30m');
    running.add(first.consumption).add(second.consumption);
    const one = Array.from({ length: 4 }, (_, partition) => ({
      topic: 'webhooks.retry.30m',
      key: null,
      value: 'x',
      partition,
    }));
    await producer.send(one);
    const read = () => [...first.seen, ...second.seen].toSorted();
    await eventually(() => expect(read()).toEqual(['0/0', '1/0', '2/0', '3/0']));
    await eventually(async () => {
      await producer.send(one);
      expect(second.seen.length).toBeGreaterThan(0);
    });
    await Promise.all([first.consumption.stop(5_000), second.consumption.stop(5_000)]);
    await producer.close(1_000);
  });

  async function consumeAll(group: string, topic: string) {
    const seen: string[] = [];
    const kafka = await connect();
    const consumption = await kafka.consume({
      group,
      topics: [topic],
      onFatal: fatal,
      onRecord: (record) => {
        seen.push(String(record.value));
        record.done();
        return 'accepted';
      },
    });
    running.add(consumption);
    await eventually(() => expect(consumption.joined).toBe(true));
    return { consumption, seen };
  }

  /** Returns records for one partition, with numbered values. */
  const numbered = (topic: string, count: number, name: string): OutRecord[] =>
    Array.from({ length: count }, (_, i) => ({
      topic,
      key: null,
      value: `${name}${String(i)}`,
      partition: 0,
    }));

  test('after a committed offset beyond the end of the log only new records are read', async () => {
    const kafka = await connect();
    const [topic, group] = ['webhooks.retry.2m', 'beyond'];
    const admin = new KafkaJs({
      brokers: [process.env.KAFKA_BROKERS!],
      logLevel: logLevel.NOTHING,
    }).admin();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(numbered(topic, 10, 'before'));
    await admin.connect();
    const groupId = `${prefix}waypost-${group}`;
    await admin.setOffsets({
      groupId,
      topic: prefix + topic,
      partitions: [{ partition: 0, offset: '60' }],
    });
    const first = await consumeAll(group, topic);
    const committed = async () =>
      (await admin.fetchOffsets({ groupId, topics: [prefix + topic] }))[0]?.partitions[0];
    await eventually(async () => expect(await committed()).toMatchObject({ offset: '10' }));
    await producer.send(numbered(topic, 40, 'after'));
    const after = numbered(topic, 40, 'after').map(({ value }) => value);
    await eventually(() => expect(first.seen).toEqual(after));
    await first.consumption.stop(5_000);
    expect(await committed()).toMatchObject({ offset: '50' });
    await admin.disconnect();
    await producer.close(1_000);
  });

  test('a consumer of a topic deleted and created again reads the new records', async () => {
    const kafka = await connect();
    const [topic, group] = ['webhooks.retry.20s', 'again'];
    const admin = new KafkaJs({
      brokers: [process.env.KAFKA_BROKERS!],
      logLevel: logLevel.NOTHING,
    }).admin();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const { consumption, seen } = await consumeAll(group, topic);
    await producer.send(numbered(topic, 100, 'old'));
    await eventually(() => expect(seen).toHaveLength(100));
    await admin.connect();
    await admin.deleteTopics({ topics: [prefix + topic] });
    const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
    await eventually(async () => {
      await admin.createTopics({
        topics: [{ topic: prefix + topic, numPartitions: 4, configEntries }],
      });
    });
    await producer.send(numbered(topic, 40, 'new'));
    const all = [...numbered(topic, 100, 'old'), ...numbered(topic, 40, 'new')].map(
      ({ value }) => value,
    );
    await eventually(() => expect(seen).toEqual(all), { deadlineMs: 120_000 });
    await consumption.stop(5_000);
    await admin.disconnect();
    await producer.close(1_000);
  });

  test('records that retention deletes before they are read are counted', async () => {
    const kafka = await connect();
    const [topic, group] = ['webhooks.retry.15m', 'expired'];
    const admin = new KafkaJs({
      brokers: [process.env.KAFKA_BROKERS!],
      logLevel: logLevel.NOTHING,
    }).admin();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    // Kafka lists partitions in no fixed order.
    const at = (await kafka.ranges(topic)).find(({ partition }) => partition === 0)!;
    await producer.send(numbered(topic, 5, 'read'));
    const first = await consumeAll(group, topic);
    await eventually(() =>
      expect(first.seen.filter((value) => value.startsWith('read'))).toHaveLength(5),
    );
    await first.consumption.stop(5_000);
    await producer.send(numbered(topic, 10, 'gone'));
    await admin.connect();
    const offset = String(at.high + 15);
    // kafkajs deletes only from topics whose leaders it knows.
    await admin.fetchTopicOffsets(prefix + topic);
    await admin.deleteTopicRecords({
      topic: prefix + topic,
      partitions: [{ partition: 0, offset }],
    });
    await producer.send(numbered(topic, 5, 'kept'));
    const second = await consumeAll(group, topic);
    await eventually(() => expect(second.seen).toContain('kept4'));
    expect(second.seen.filter((value) => value.startsWith('gone'))).toEqual([]);
    const line = `waypost_consumer_missed_total{group="${group}",topic="${topic}",reason="retention"} 10`;
    expect((await renderMetrics(metrics)).split('\n')).toContain(line);
    await second.consumption.stop(5_000);
    await admin.disconnect();
    await producer.close(1_000);
  });

  test('deferred records that retention deletes are counted, without another read', async () => {
    const kafka = await connect();
    const [topic, group] = ['webhooks.retry.30m', 'deferring'];
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const at = (await kafka.ranges(topic)).find(({ partition }) => partition === 0)!;
    const seen: string[] = [];
    const consumption = await kafka.consume({
      group,
      topics: [topic],
      onFatal: fatal,
      onRecord: (record) => {
        const value = String(record.value);
        if (/^(deferred|done|later)/.test(value)) seen.push(value);
        if (value.startsWith('deferred')) record.defer();
        else record.done();
        return 'accepted';
      },
    });
    running.add(consumption);
    await producer.send(numbered(topic, 3, 'deferred'));
    await producer.send(numbered(topic, 5, 'done'));
    await eventually(() => expect(seen).toContain('done4'));
    const admin = new KafkaJs({
      brokers: [process.env.KAFKA_BROKERS!],
      logLevel: logLevel.NOTHING,
    }).admin();
    await admin.connect();
    await admin.fetchTopicOffsets(prefix + topic);
    const offset = String(at.high + 2);
    await admin.deleteTopicRecords({
      topic: prefix + topic,
      partitions: [{ partition: 0, offset }],
    });

    consumption.readDeferred();
    await eventually(() => expect(seen.filter((value) => value === 'deferred2')).toHaveLength(2));
    await producer.send(numbered(topic, 1, 'later'));
    await eventually(() => expect(seen).toContain('later0'));
    expect(seen).toHaveLength(3 + 5 + 1 + 1);
    const line = `waypost_consumer_missed_total{group="${group}",topic="${topic}",reason="retention"} 2`;
    expect((await renderMetrics(metrics)).split('\n')).toContain(line);
    await eventually(async () =>
      expect((await kafka.committed(group, topic))[0]).toBe(at.high + 2),
    );
    await consumption.stop(5_000);
    running.delete(consumption);
    await admin.disconnect();
    await producer.close(1_000);
  });

  test('metrics count unread partitions, their records and the age of the oldest', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const topic = 'webhooks.retry.5m';
    // The group leader is a foreign client that assigns partitions 2 and 3 to no member.
    // Its name sorts last: the first member counts the records.
    const brokers = [process.env.KAFKA_BROKERS!];
    const leader = new KafkaJs({ clientId: 'z', brokers, logLevel: logLevel.NOTHING }).consumer({
      groupId: `${prefix}waypost-unread`,
      partitionAssigners: [halfAssigner(prefix + topic)],
    });
    await leader.subscribe({ topic: prefix + topic });
    await leader.run({ eachMessage: () => Promise.resolve() });
    const { consumption } = await join('unread', topic);
    running.add(consumption);
    await producer.send(
      [2, 3].flatMap((partition) =>
        [1, 2, 3].map(() => ({ topic, key: null, value: 'x', partition })),
      ),
    );
    const read = async (name: string) => {
      const line = (await renderMetrics(metrics))
        .split('\n')
        .find((l) => l.startsWith(name) && l.includes('"unread"'));
      return Number(line?.split(' ').at(-1));
    };
    // Nothing is known between two assignments, and brokers are asked every five seconds at most.
    await eventually(
      async () => {
        expect(await read('waypost_consumer_unassigned')).toBe(2);
        expect(await read('waypost_consumer_lag')).toBe(6);
        expect(await read('waypost_consumer_oldest_seconds')).toBeGreaterThan(0);
        expect(await read('waypost_consumer_retention_seconds')).toBe(28 * 3_600);
      },
      { deadlineMs: 120_000 },
    );
    await leader.disconnect();
    await eventually(async () => expect(await read('waypost_consumer_unassigned')).toBe(0), {
      deadlineMs: 120_000,
    });
    await consumption.stop(5_000);
    await producer.close(1_000);
  });

  test('a refused record is read again immediately after resume, or at its time', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(records('webhooks', 500));
    const seen = new Map<string, number>();
    let refusals = 0;
    let mode: 'busy' | 'later' | 'take' = 'busy';
    const consumption: Consumption = await kafka.consume({
      group: 'refuse',
      topics: ['webhooks'],
      onFatal: fatal,
      onRecord: (record) => {
        if (mode === 'busy') {
          refusals++;
          return 'busy';
        }
        if (mode === 'later') {
          refusals++;
          return { againInMs: 200 };
        }
        const id = `${String(record.partition)}/${String(record.offset)}`;
        seen.set(id, (seen.get(id) ?? 0) + 1);
        record.done();
        return 'accepted';
      },
    });
    await eventually(() => expect(refusals).toBe(4));
    mode = 'later';
    consumption.resume();
    await eventually(() => expect(refusals).toBeGreaterThan(8));
    mode = 'take';
    await eventually(() => expect(seen.size).toBe(500));
    expect([...seen.values()].every((times) => times === 1)).toBe(true);
    await consumption.stop(5_000);
    await producer.close(1_000);
  });

  test('partitions with records and no committed offset are found until a commit', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(numbered('webhooks', 5, 'first'));
    // Nobody reads it before it is due, so nobody has committed an offset.
    await producer.send(numbered('webhooks.retry.5m', 5, 'waits'));
    const delivery = async () => {
      const { uncommitted } = await inspectOffsets(settings);
      expect(uncommitted.filter(({ group }) => group === `${prefix}waypost-retry`)).toEqual([]);
      return uncommitted.filter(({ group }) => group === `${prefix}waypost-delivery`);
    };
    expect(await delivery()).toEqual([
      {
        group: `${prefix}waypost-delivery`,
        topic: `${prefix}webhooks`,
        partitions: expect.arrayContaining([0]),
      },
    ]);
    expect(await inspectOffsets(settings)).toMatchObject({
      retentionMinutes: 43_200,
      longestMinutes: 10_080,
    });
    const { consumption } = await consumeAll('delivery', 'webhooks');
    await eventually(async () => expect(await delivery()).toEqual([]));
    await consumption.stop(5_000);
    await producer.close(1_000);
  });

  test('the next member of a group reads open records again, and no completed ones', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const first = await join('resume', 'webhooks.due');
    await producer.send(records('webhooks.due', 200));
    await eventually(() => expect(first.seen).toHaveLength(200));
    first.holding = true;
    await producer.send(records('webhooks.due', 100));
    await eventually(() => expect(first.held).toHaveLength(100));
    // It stops with open records: it gives up waiting and commits completed ones.
    await first.consumption.stop(300);

    const second = await join('resume', 'webhooks.due');
    await eventually(() => expect(second.seen).toHaveLength(100));
    expect(new Set(second.seen)).toEqual(new Set(first.seen.slice(200)));
    await second.consumption.stop(5_000);
    await producer.close(1_000);
  });

  /**
   * Joins a group and holds records: some in flight, which end after a revocation, and some queued,
   * which are handed back.
   */
  async function joinWithQueue(group: string) {
    const queued = new Set<OpenRecord>();
    const inFlight = new Set<OpenRecord>();
    const counts = { done: 0, released: 0 };
    const seen: string[] = [];
    const finish = (record: OpenRecord) => {
      inFlight.delete(record);
      record.done();
      counts.done++;
    };
    const state = { holding: true };
    const kafka = await connect();
    const consumption = await kafka.consume({
      group,
      topics: ['webhooks.retry.10s', 'webhooks.retry.1m'],
      onFatal: fatal,
      onRecord: (record) => {
        seen.push(`${record.topic}/${String(record.partition)}/${String(record.offset)}`);
        if (!state.holding || record.offset % 3 === 0) record.done();
        else if (record.offset % 3 === 1) queued.add(record);
        else inFlight.add(record);
        return 'accepted';
      },
      onRevoking: () => {
        for (const record of queued) {
          if (!record.isRevoking) continue;
          expect(record.handBack()).toBe(true);
          queued.delete(record);
          counts.released++;
        }
        for (const record of inFlight) if (record.isRevoking) setTimeout(() => finish(record), 300);
      },
    });
    running.add(consumption);
    await eventually(() => expect(consumption.joined).toBe(true));
    return { consumption, queued, inFlight, counts, seen, state };
  }

  const twoTopics = () => [
    ...records('webhooks.retry.10s', 150),
    ...records('webhooks.retry.1m', 150),
  ];

  test('a stopping member hands back its queued records, and the next reads those', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    await producer.send(twoTopics());
    const first = await joinWithQueue('give-back-stop');
    await eventually(() => expect(first.seen).toHaveLength(300));
    await first.consumption.stop(20_000);
    expect(first.counts.released).toBeGreaterThan(50);
    expect([first.consumption.open, first.inFlight.size]).toEqual([0, 0]);

    const second = await joinWithQueue('give-back-stop');
    second.state.holding = false;
    await eventually(
      () => expect(second.seen.length).toBeGreaterThanOrEqual(first.counts.released),
      {
        deadlineMs: 60_000,
      },
    );
    // After these records are read, a repeated read would have shown.
    await producer.send(twoTopics());
    await eventually(() =>
      expect(second.seen.length).toBeGreaterThanOrEqual(first.counts.released + 300),
    );
    expect(second.seen).toHaveLength(first.counts.released + 300);
    expect(new Set([...first.seen, ...second.seen]).size).toBe(600);
    await second.consumption.stop(20_000);
    await producer.close(1_000);
  });

  test('a partition that moves hands its queue to the new owner, and back again', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const first = await joinWithQueue('give-back-move');
    await eventually(() => expect(first.seen.length).toBeGreaterThanOrEqual(600));
    const second = await joinWithQueue('give-back-move');
    await eventually(() => expect(first.counts.released).toBeGreaterThan(20), {
      deadlineMs: 60_000,
    });
    await eventually(() => expect(second.seen).toHaveLength(first.counts.released), {
      deadlineMs: 60_000,
    });
    await second.consumption.stop(20_000);
    expect(second.counts.released).toBeGreaterThan(0);
    await eventually(() => expect(first.seen).toHaveLength(600 + second.counts.released), {
      deadlineMs: 60_000,
    });
    await first.consumption.stop(20_000);
    expect(first.consumption.open).toBe(0);
    await producer.close(1_000);
  });

  test('no record is lost or read twice when members join and leave in order', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const one = await join('grow', 'messages.rejected');
    let sent = 0;
    const load = setInterval(() => {
      sent += 20;
      void producer.send(records('messages.rejected', 20));
    }, 20).unref();
    await eventually(() => expect(one.seen.length).toBeGreaterThan(200));
    const two = await join('grow', 'messages.rejected');
    await eventually(() => expect(two.seen.length).toBeGreaterThan(100));
    await one.consumption.stop(5_000);
    clearInterval(load);
    await eventually(() => expect(new Set([...one.seen, ...two.seen]).size).toBe(sent), {
      deadlineMs: 60_000,
    });
    expect(new Set(two.seen).size).toBe(two.seen.length);
    await two.consumption.stop(5_000);
    await producer.close(1_000);
  });

  test('a group of one grows to three and shrinks under load without reading twice', async () => {
    const kafka = await connect();
    const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
    const seen: string[] = [];
    const member = async (name: string): Promise<Consumption> => {
      const own = await connect();
      const consumption = await own.consume({
        group: 'cooperative',
        topics: ['webhooks.dead', 'attempts'],
        onFatal: fatal,
        onRecord: (record) => {
          seen.push(`${record.topic}/${String(record.partition)}/${String(record.offset)}`);
          // One in twenty is slow: at every change some slow record is open on every partition.
          setTimeout(() => record.done(), record.offset % 20 === 0 ? 700 : 5);
          return 'accepted';
        },
      });
      await eventually(() => expect([name, consumption.joined]).toEqual([name, true]));
      return consumption;
    };
    const before = await ends(kafka);
    let sent = 0;
    const load = setInterval(() => {
      sent += 10;
      void producer.send([...records('webhooks.dead', 5), ...records('attempts', 5)]);
    }, 10).unref();
    const moved = async () => {
      const count = seen.length;
      await eventually(() => expect(seen.length).toBeGreaterThan(count + 500), {
        deadlineMs: 60_000,
      });
    };
    const one = await member('one');
    await moved();
    const two = await member('two');
    await moved();
    const three = await member('three');
    await moved();
    await two.stop(10_000);
    await moved();
    await one.stop(10_000);
    await moved();
    clearInterval(load);
    await eventually(() => expect(new Set(seen).size).toBe(before + sent), { deadlineMs: 60_000 });
    expect(seen).toHaveLength(new Set(seen).size);
    // The last member owns every partition, by the partitioner of the producer.
    expect(records('attempts', 40).every(({ key }) => three.owns('attempts', key ?? ''))).toBe(
      true,
    );
    await three.stop(10_000);
    await producer.close(1_000);
  });
});

/** Assigns the first two partitions to its own member, and none to others. */
function halfAssigner(topic: string): PartitionAssigner {
  const name = 'waypost-cooperative';
  return () => ({
    name,
    version: 1,
    protocol: ({ topics }) => ({
      name,
      metadata: AssignerProtocol.MemberMetadata.encode({
        version: 1,
        topics,
        userData: Buffer.alloc(0),
      }),
    }),
    assign: ({ members }) =>
      Promise.resolve(
        members.map(({ memberId }, i) => {
          const parts = {
            version: 1,
            assignment: { [topic]: i === 0 ? [0, 1] : [] },
            userData: Buffer.alloc(0),
          };
          return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode(parts) };
        }),
      ),
  });
}

/** Counts the records that earlier tests left in the topics of the cooperative test. */
async function ends(kafka: Kafka): Promise<number> {
  let count = 0;
  for (const topic of ['webhooks.dead', 'attempts']) {
    const tail = await kafka.tail({
      name: 'count',
      topic,
      from: 'beginning',
      onRecord: () => count++,
      onFatal: fatal,
    });
    await tail.caughtUp(60_000);
    await tail.stop();
  }
  return count;
}
