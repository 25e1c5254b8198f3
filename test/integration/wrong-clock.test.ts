import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { connectKafka } from '../../shared/kafka/client/client';
import { SESSION_MS } from '../../shared/kafka/consumer/membership';
import { type OutRecord } from '../../shared/kafka/port';
import { ATTEMPTS, DUE, WEBHOOKS } from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { deliveryKey, encodeDelivery } from '../../shared/model/delivery';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { WrongClocks } from '../../tools/chaos/wrong-clocks';
import { aDelivery } from '../support/factories';
import { eventually, Final } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { destinationAt, openProcesses } from '../support/processes';
import { startService } from '../support/service';

/** Delivery processes on a machine whose clock is wrong, or is set. */

const HOUR_MS = 3_600_000;
const DELIVERIES = 600;
const SHARDS = 60;
/** Sets the clock of a process: it is loaded before all else. */
const AN_HOUR_AHEAD = `const now = Date.now; Date.now = () => now() + ${String(HOUR_MS)};`;

const env = {
  KAFKA_BROKERS: process.env.KAFKA_BROKERS!,
  WAYPOST_TOPIC_PREFIX: `clock-${randomUUID().slice(0, 8)}.`,
  WAYPOST_PARTITIONS: '2',
  WAYPOST_REPLICATION: '1',
  WAYPOST_HOST: '127.0.0.1',
  WAYPOST_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
};

test('its first record has the time of the brokers', async () => {
  const settings = loadSettings(env);
  const log = createLog('test', 'silent');
  const kafka = await connectKafka(settings, { clientId: 'test', log });
  const producer = await kafka.producer({ maxPendingBytes: 1e9, deliveryTimeoutMs: 'retry' });
  const times: number[] = [];
  const tail = await kafka.tail({
    name: 'attempts',
    topic: ATTEMPTS,
    from: 'beginning',
    onRecord: ({ value }) => {
      for (const event of readEvents(String(value))) times.push(Date.parse(event.at));
    },
    onFatal: (error) => {
      throw error;
    },
  });
  // Nobody knows its destination, so that it ends at once.
  const delivery = aDelivery({ acceptedAt: Date.now(), userId: 'user' });
  await producer.send([
    {
      topic: WEBHOOKS,
      key: deliveryKey(delivery.destinationId, 'user', 12),
      value: '{}',
      headers: encodeDelivery(delivery),
    },
  ]);
  const [port] = await freePorts(1);
  const service = await startService('delivery', {
    ...env,
    WAYPOST_DELIVERY_HEALTH_PORT: String(port),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(AN_HOUR_AHEAD)}`,
  });
  try {
    await eventually(() => expect(times).toHaveLength(1), { deadlineMs: 60_000 });
    expect(Math.abs(times[0]! - Date.now())).toBeLessThan(HOUR_MS / 2);
  } finally {
    await service.kill();
    await tail.stop();
    await producer.close(1_000);
    await kafka.close();
  }
}, 240_000);

test('two processes share partitions, repeating nothing, after one clock is set back', async () => {
  const topics = [WEBHOOKS, DUE];
  const folder = mkdtempSync(join(tmpdir(), 'waypost-clocks-'));
  const clocks = new WrongClocks(folder);
  const processes = await openProcesses({
    prefix: 'clock-back',
    partitions: 6,
    retryDelays: '10s',
  });
  const { producer, sink } = processes;
  Object.assign(processes.env, clocks.env);
  try {
    await producer.send([destinationAt(processes, 'dst_1', '/hook')]);
    const [wrong] = await Promise.all([processes.start('delivery'), processes.start('delivery')]);
    const members = await processes.shared('delivery', topics, 2);
    clocks.set(wrong.pid, -70_000);
    const setAt = performance.now();
    // Idle for longer than a session lasts.
    await eventually(async () => {
      const { view } = await processes.readers('delivery', topics);
      const ids = new Set(view?.members.map(({ memberId }) => memberId));
      if (!isDeepStrictEqual(ids, members)) throw new Final('a member has lost its session');
      expect(performance.now() - setAt).toBeGreaterThan(2 * SESSION_MS);
    });
    await producer.send(manyDeliveries());
    await eventually(() => expect(sink.deliveries('/hook').distinct).toBe(DELIVERIES));
    await processes.allCommitted('delivery', WEBHOOKS);
    // Its successor sends nothing again.
    await wrong.kill();
    await processes.shared('delivery', topics, 1);
    await producer.send(manyDeliveries('later'));
    await eventually(() => expect(sink.deliveries('/hook').distinct).toBe(2 * DELIVERIES));
    await processes.allCommitted('delivery', WEBHOOKS);
    expect(sink.deliveries('/hook').repeats).toBe(0);
  } finally {
    await processes.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 240_000);

/** Returns deliveries for many users. */
function manyDeliveries(name = 'early'): OutRecord[] {
  const acceptedAt = Date.now();
  return Array.from({ length: DELIVERIES }, (_, i) => {
    const userId = `user-${String(i)}`;
    const id = `dlv_${name}_${String(i)}`;
    const delivery = aDelivery({
      id,
      messageId: id,
      userId,
      acceptedAt,
    });
    return {
      topic: WEBHOOKS,
      key: deliveryKey(delivery.destinationId, userId, SHARDS),
      value: '{}',
      headers: encodeDelivery(delivery),
    };
  });
}
