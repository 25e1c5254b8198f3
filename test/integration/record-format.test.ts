import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssignerProtocol, Kafka as KafkaJs, logLevel, type PartitionAssigner } from 'kafkajs';
import { openConfigEntries } from '../../services/control/config/config-entries';
import { HOLD_MS } from '../../services/control/record-format/decide';
import { RecordFormatSwitch } from '../../services/control/record-format/switch';
import { type RunningControl, startControl } from '../../services/control/server';
import { createEncryptor } from '../../shared/config/encryption';
import { openConfig } from '../../shared/config/reader';
import { openWriter } from '../../shared/config/writer';
import { connectKafka } from '../../shared/kafka/client';
import { Membership } from '../../shared/kafka/consumer/membership';
import { type BatchProducer, type Consumption, type Kafka } from '../../shared/kafka/port';
import { ATTEMPTS, WEBHOOKS } from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { encodeDelivery } from '../../shared/model/delivery';
import { READS_FORMAT } from '../../shared/model/record-format';
import { type Destination } from '../../shared/model/config';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';
import { type Json } from '../../tools/harness/api';
import { type Sink, startSink } from '../../tools/harness/sink';
import { startDelivery } from '../support/deliverer';
import { eventually } from '../support/eventually';
import { anEvent } from '../support/events';
import { readTopic } from '../support/topics';

/**
 * The switch for record formats on a real Kafka: members of two versions, and control's history at
 * a newer record.
 */

const log = createLog('test', 'silent');
const onFatal = (error: unknown) => {
  throw error;
};
const env = (name: string) => ({
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: `${name}-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '2',
  WAYPOST_REPLICATION: '1',
});

describe('an existing system', () => {
  const settings = loadSettings(env('formats'));
  const encryptor = createEncryptor([randomBytes(32)]);
  const closing: (() => Promise<unknown>)[] = [];
  let sink: Sink;
  beforeAll(async () => {
    sink = await startSink();
    closing.push(() => sink.close());
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  test('writes attempts as rows once older versions are gone, and not when it is off', async () => {
    const kafka = await connectKafka(settings, { clientId: 'test', log });
    closing.push(() => kafka.close());
    for (const group of ['router', 'retry', 'control-history-1']) {
      const consumption = await joined(kafka, group);
      closing.push(() => consumption.stop(0));
    }
    const delivery = await startDelivery(kafka, { encryptor, log, onFatal });
    closing.push(() => delivery.stop());
    const older = await oldMember(`${settings.WAYPOST_TOPIC_PREFIX}waypost-router`);
    closing.push(older.leave);
    const { formats, writes, pass, producer, writer } = await openSwitch(kafka);
    await writer.write('destination', 'dst', aDestination(), { replaces: 0 });
    /** Delivers a webhook, once delivery writes this format. Returns how its event was written. */
    const attemptsAfter = async (id: string, format: number) => {
      await eventually(() => expect(delivery.writes()).toBe(format));
      await deliver(producer, id);
      return eventually(async () => {
        const records = await readTopic(kafka, ATTEMPTS);
        const found = records.flatMap(({ key, headers, value }) =>
          readEvents(value).map((event) => ({
            id: 'delivery' in event && event.delivery,
            key: key?.toString() ?? null,
            format: headers.format,
          })),
        );
        const one = found.find((each) => each.id === id);
        if (!one) throw new Error(`${id} is not in ${JSON.stringify(found)}`);
        return one;
      });
    };

    await eventually(async () => {
      const { members, missing } = await formats.view();
      expect(members.map(({ group, reads }) => `${group} ${String(reads)}`).sort()).toEqual([
        `control-history-1 ${READS_FORMAT}`,
        `delivery ${READS_FORMAT}`,
        `retry ${READS_FORMAT}`,
        'router 1',
        `router ${READS_FORMAT}`,
      ]);
      expect(missing).toEqual([]);
    });
    await pass(2 * HOLD_MS);
    expect(writes()).toBe(1);
    expect(await attemptsAfter('dlv_before', 1)).toEqual({ id: 'dlv_before', key: 'dlv_before' });

    await older.leave();
    await eventually(async () => {
      const { members, settling } = await formats.view();
      expect([members.every(({ reads }) => reads === READS_FORMAT), settling]).toEqual([true, []]);
    });
    // A member that rejoins in between begins the hold again.
    await eventually(async () => {
      await pass(HOLD_MS);
      expect(writes()).toBe(READS_FORMAT);
    });
    expect(await attemptsAfter('dlv_on', READS_FORMAT)).toEqual({
      id: 'dlv_on',
      key: null,
      format: '2',
    });

    const by = { id: 'admin', name: 'admin', role: 'admin' as const };
    await formats.set({ by, ifMatch: undefined }, false);
    await eventually(() => expect(writes()).toBe(1));
    await pass(2 * HOLD_MS);
    expect(writes()).toBe(1);
    expect(await attemptsAfter('dlv_off', 1)).toEqual({ id: 'dlv_off', key: 'dlv_off' });
  });

  function aDestination(): Destination {
    const url = sink.url('/hook');
    const at = new Date().toISOString();
    return {
      id: 'dst',
      name: 'dst',
      type: 'webhooks',
      enabled: true,
      paused: false,
      sources: ['src'],
      createdAt: at,
      updatedAt: at,
      webhooks: [
        { id: 'whk', url: encryptor.encrypt(url, 'dst'), origin: new URL(url).origin, headers: {} },
      ],
    };
  }

  function deliver(producer: BatchProducer, id: string): Promise<void> {
    const acceptedAt = Date.now();
    const headers = encodeDelivery({
      id,
      messageId: id,
      sourceId: 'src',
      destinationId: 'dst',
      type: 'track',
      userId: 'kim',
      acceptedAt,
      expiresAt: acceptedAt + 3_600_000,
      attempt: 0,
      hop: 0,
      replay: 0,
      closed: [],
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00',
    });
    return producer.send([{ topic: WEBHOOKS, key: 'dst:1', value: '{}', headers }]);
  }

  const joined = (kafka: Kafka, group: string): Promise<Consumption> =>
    kafka.consume({ group, topics: ['messages'], onRecord: () => 'accepted', onFatal });

  /** Opens the switch. It reads a clock that `pass` moves, and looks every 50 s. */
  async function openSwitch(kafka: Kafka) {
    const config = await openConfig(kafka, { name: 'test', log, onFatal });
    const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
    const now = () => new Date();
    const writer = openWriter({ config, producer, log, now });
    closing.push(() =>
      writer
        .close()
        .then(() => producer.close(1_000))
        .then(() => config.stop()),
    );
    let ms = 0;
    const entries = openConfigEntries(config, writer);
    const formats = new RecordFormatSwitch({
      kafka,
      config,
      entries,
      now,
      steadyMs: () => ms,
      log,
    });
    const pass = async (span: number) => {
      for (const until = ms + span; ms <= until; ms += 50_000) await formats.look();
    };
    return { formats, writes: () => config.recordFormat(), pass, producer, writer };
  }

  /** Joins a group as the version before this one does: its metadata names no record format. */
  async function oldMember(groupId: string): Promise<{ leave: () => Promise<void> }> {
    const assigner: PartitionAssigner = (cluster) => {
      const present = new Membership().assigner(cluster);
      const protocol: typeof present.protocol = (subscription) => {
        const { name, metadata } = present.protocol(subscription);
        const {
          version = 1,
          topics = [],
          userData,
        } = AssignerProtocol.MemberMetadata.decode(metadata) ?? {};
        const { reads: _, ...rest } = JSON.parse(userData?.toString() ?? '') as { reads: number };
        const data = Buffer.from(JSON.stringify(rest));
        return {
          name,
          metadata: AssignerProtocol.MemberMetadata.encode({ version, topics, userData: data }),
        };
      };
      return { ...present, protocol };
    };
    const brokers = process.env.KAFKA_BROKERS!.split(',');
    const consumer = new KafkaJs({ brokers, clientId: 'old', logLevel: logLevel.NOTHING }).consumer(
      {
        groupId,
        partitionAssigners: [assigner],
        sessionTimeout: 6_000,
        heartbeatInterval: 150,
      },
    );
    await consumer.connect();
    await consumer.subscribe({ topic: `${settings.WAYPOST_TOPIC_PREFIX}messages` });
    await consumer.run({ eachMessage: () => Promise.resolve() });
    let left: Promise<void> | undefined;
    return { leave: () => (left ??= consumer.disconnect()) };
  }
});

describe('a new system', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'waypost-formats-'));
  const TOKEN = 'integration-admin-token';
  const settings = loadSettings({
    ...env('new-format'),
    WAYPOST_DATA_DIR: dataDir,
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_ADMIN_TOKEN: TOKEN,
    WAYPOST_CONTROL_PORT: '0',
    WAYPOST_CONTROL_HEALTH_PORT: '0',
    WAYPOST_SECRET_KEY: randomBytes(32).toString('base64'),
  });
  let control: RunningControl;
  let kafka: Kafka;
  beforeAll(async () => {
    control = await startControl(settings, log, onFatal);
    kafka = await connectKafka(settings, { clientId: 'test', log });
  });
  afterAll(async () => {
    await kafka.close();
    await control.stop(5_000);
    rmSync(dataDir, { recursive: true, force: true });
  });
  const get = async (path: string) => {
    const address = `http://127.0.0.1:${String(control.port)}/api/v1${path}`;
    return (await (
      await fetch(address, { headers: { authorization: `Bearer ${TOKEN}` } })
    ).json()) as Json;
  };

  test('writes the newest format from its beginning', async () => {
    expect(await get('/record-format')).toMatchObject({
      format: READS_FORMAT,
      newest: READS_FORMAT,
      automatic: true,
      version: 1,
    });
  });

  test('leaves attempts of a newer format, and what follows them, to a newer process', async () => {
    const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 10_000 });
    const now = new Date().toISOString();
    const attempt = (delivery: string, partition: number, headers = {}) => ({
      topic: 'attempts',
      key: delivery,
      partition,
      headers,
      value: JSON.stringify(anEvent({ delivery, userId: 'kim', acceptedAt: now, at: now })),
    });
    await producer.send([
      attempt('a', 0),
      attempt('b', 0, { format: '9' }),
      attempt('c', 0),
      attempt('d', 1),
      attempt('e', 1),
    ]);
    await producer.close(1_000);
    const known = async () =>
      ((await get('/deliveries?user=kim')).data as { id: string }[]).map(({ id }) => id).sort();
    await eventually(async () => expect(await known()).toEqual(['a', 'd', 'e']), {
      deadlineMs: 60_000,
    });
    await eventually(async () => {
      const ready = await fetch(`http://127.0.0.1:${String(control.healthPort)}/readyz`);
      expect([ready.status, JSON.stringify(await ready.json())]).toEqual([
        200,
        expect.stringMatching(
          /attempts holds a record \(partition 0, offset 1\) of format 9.*Upgrade/,
        ),
      ]);
    });
    await eventually(async () => {
      const groups = await kafka.groupFormats();
      const group = groups.find((each) => each.group.startsWith('control-history-'))?.group ?? '';
      expect(await kafka.committed(group, 'attempts')).toEqual([1, 2]);
    });
  });
});
