import { createSealer } from '../shared/config/seal';
import { openConfig } from '../shared/config/reader';
import { openWriter } from '../shared/config/writer';
import { DEFAULT_SHARDS, type Destination } from '../shared/domain/config';
import { deliveryId, deliveryKey, encodeDelivery } from '../shared/domain/delivery';
import { connectKafka } from '../shared/kafka/client';
import { type Appender, type OutRecord } from '../shared/kafka/port';
import { WEBHOOKS } from '../shared/kafka/topics';
import { loadSettings, requireSecretKeys, type Settings } from '../shared/settings';
import { createLog } from '../shared/telemetry/log';
import { newTraceparent } from '../shared/telemetry/trace';
import { bodyOf, SECRET, userOf } from './payload';

/** Fills a system's topics as control and router would, for a service that is to be measured alone. */

const SOURCE = 'src_bench';
/** Records handed over at once, which is what one produce request takes. */
const BATCH = 500;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

/** Writes one destination for each URL, and `count` rendered deliveries that take turns among them. */
export async function seedDeliveries(
  env: Record<string, string>,
  options: { urls: readonly string[]; count: number },
): Promise<void> {
  const settings = loadSettings(env);
  const log = createLog('bench', 'error');
  const kafka = await connectKafka(settings, { clientId: 'bench', log });
  const onFatal = (error: unknown) => log.error(error);
  const config = await openConfig(kafka, { name: 'bench', log, onFatal });
  const appender = await kafka.appender({ maxPendingBytes: MAX_PENDING_BYTES, giveUpAfterMs: 'retry' });
  const writer = openWriter({ config, appender, log, now: () => new Date() });
  const destinations = options.urls.map((url, i) => destinationOf(`dst_bench${String(i)}`, url, settings));
  for (const destination of destinations)
    await writer.write('destination', destination.id, destination, { replaces: 0 });
  await appendDeliveries(appender, { destinations, count: options.count, windowMs: settings.WAYPOST_RETRY_WINDOW });
  await writer.close();
  await appender.close(1_000);
  await config.stop();
  await kafka.close();
}

function destinationOf(id: string, url: string, settings: Settings): Destination {
  const sealer = createSealer(requireSecretKeys(settings));
  const at = new Date().toISOString();
  return {
    id,
    name: id,
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [SOURCE],
    webhooks: [{ id: `${id}_1`, url: sealer.seal(url, id), origin: new URL(url).origin, headers: {} }],
    secrets: { current: sealer.seal(SECRET, id) },
    createdAt: at,
    updatedAt: at,
  };
}

async function appendDeliveries(
  appender: Appender,
  options: { destinations: readonly Destination[]; count: number; windowMs: number },
): Promise<void> {
  const { destinations, count, windowMs } = options;
  for (let from = 0; from < count; from += BATCH) {
    const records: OutRecord[] = [];
    for (let i = from; i < Math.min(count, from + BATCH); i++) {
      const destination = destinations[i % destinations.length];
      if (destination) records.push(deliveryRecord(i, destination.id, windowMs));
    }
    await appender.append(records);
  }
}

function deliveryRecord(i: number, destinationId: string, windowMs: number): OutRecord {
  const messageId = `bench-message-${String(i)}`;
  const acceptedAt = Date.now();
  return {
    topic: WEBHOOKS,
    key: deliveryKey(destinationId, userOf(i), DEFAULT_SHARDS),
    value: JSON.stringify(bodyOf(i, messageId)),
    headers: encodeDelivery({
      id: deliveryId(SOURCE, messageId, destinationId),
      messageId,
      sourceId: SOURCE,
      destinationId,
      type: 'track',
      userId: userOf(i),
      acceptedAt,
      expiresAt: acceptedAt + windowMs,
      attempt: 0,
      hop: 0,
      replay: 0,
      closed: [],
      traceparent: newTraceparent(),
    }),
  };
}
