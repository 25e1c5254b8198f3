import { randomUUID } from 'node:crypto';
import { connectKafka } from '../../shared/kafka/client/client';
import { ATTEMPTS, WEBHOOKS } from '../../shared/kafka/topics';
import { readEvents } from '../../shared/model/attempt-rows';
import { deliveryKey, encodeDelivery } from '../../shared/model/delivery';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { aDelivery } from '../support/factories';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/free-port';
import { startService } from '../support/service';

/** A delivery process starts on a machine whose clock is wrong. */

const HOUR_MS = 3_600_000;
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
