import { createSealer } from '../shared/config/seal';
import { openConfig } from '../shared/config/reader';
import { openWriter } from '../shared/config/writer';
import { DEFAULT_SHARDS, type Destination } from '../shared/domain/config';
import { type Delivery, deliveryId, deliveryKey, encodeDelivery } from '../shared/domain/delivery';
import { connectKafka } from '../shared/kafka/client';
import { type Appender, type Kafka, type OutRecord } from '../shared/kafka/port';
import { WEBHOOKS } from '../shared/kafka/topics';
import { loadSettings, requireSecretKeys, type Settings } from '../shared/settings';
import { createLog, type Log } from '../shared/telemetry/log';
import { newTraceparent } from '../shared/telemetry/trace';
import { bodyOf, SECRET, userOf } from './payload';

/** Fills a system's topics as control and router would, for a service that is to be measured alone. */

const SOURCE = 'src_bench';
/** Records handed over at once, which is what one produce request takes. */
const BATCH = 500;
const BATCHES_AHEAD = 4;
/** That of the default settings. */
const WINDOW_MS = 4 * 3_600_000;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

/** Writes as control and router would. */
export interface Seeder {
  kafka: Kafka;
  /** One signed destination for each URL. */
  destinations(urls: readonly string[]): Promise<Destination[]>;
  /** Resolves when all are acknowledged. */
  append(records: Iterable<OutRecord>): Promise<void>;
  close(): Promise<void>;
}

/** @param env of the system */
export async function openSeeder(env: Record<string, string>): Promise<Seeder> {
  const settings = loadSettings(env);
  const log = createLog('bench', 'error');
  const kafka = await connectKafka(settings, { clientId: 'bench', log });
  const appender = await kafka.appender({ maxPendingBytes: MAX_PENDING_BYTES, giveUpAfterMs: 'retry' });
  return {
    kafka,
    destinations: (urls) => writeDestinations({ kafka, appender, log, settings }, urls),
    append: (records) => appendAll(appender, records),
    close: async () => {
      await appender.close(1_000);
      await kafka.close();
    },
  };
}

/** Writes one destination for each URL, and `count` rendered deliveries that take turns among them. */
export async function seedDeliveries(
  env: Record<string, string>,
  options: { urls: readonly string[]; count: number },
): Promise<void> {
  const seeder = await openSeeder(env);
  try {
    const destinations = await seeder.destinations(options.urls);
    await seeder.append(firstAttempts(destinations, { from: 0, count: options.count }));
  } finally {
    await seeder.close();
  }
}

/** Rendered deliveries, never tried, that take turns among the destinations. @param range.from no two may share a number */
export function* firstAttempts(
  destinations: readonly Destination[],
  range: { from: number; count: number },
): Generator<OutRecord> {
  for (let i = range.from; i < range.from + range.count; i++) {
    const destination = destinations[i % destinations.length];
    if (!destination) throw new Error('there is no destination');
    const messageId = `bench-message-${String(i)}`;
    const delivery = aDelivery(i, { messageId, sourceId: SOURCE, destinationId: destination.id });
    yield deliveryRecord(WEBHOOKS, delivery, JSON.stringify(bodyOf(i, messageId)));
  }
}

/** A delivery as it leaves the router now. */
export function aDelivery(
  i: number,
  of: { messageId: string; sourceId: string; destinationId: string },
): Delivery & { userId: string } {
  const acceptedAt = Date.now();
  return {
    ...of,
    id: deliveryId(of.sourceId, of.messageId, of.destinationId),
    type: 'track',
    userId: userOf(i),
    acceptedAt,
    expiresAt: acceptedAt + WINDOW_MS,
    attempt: 0,
    hop: 0,
    replay: 0,
    closed: [],
    traceparent: newTraceparent(),
  };
}

export function deliveryRecord(topic: string, delivery: Delivery & { userId: string }, value: string): OutRecord {
  const key = deliveryKey(delivery.destinationId, delivery.userId, DEFAULT_SHARDS);
  return { topic, key, value, headers: encodeDelivery(delivery) };
}

async function writeDestinations(
  { kafka, appender, log, settings }: { kafka: Kafka; appender: Appender; log: Log; settings: Settings },
  urls: readonly string[],
): Promise<Destination[]> {
  const onFatal = (error: unknown) => log.error(error);
  const config = await openConfig(kafka, { name: 'bench', log, onFatal });
  const writer = openWriter({ config, appender, log, now: () => new Date() });
  const destinations = urls.map((url, i) => destinationOf(`dst_bench${String(i)}`, url, settings));
  for (const destination of destinations)
    await writer.write('destination', destination.id, destination, { replaces: 0 });
  await writer.close();
  await config.stop();
  return destinations;
}

/** Some requests' worth is handed over at a time: the next is made while Kafka writes the last. */
async function appendAll(appender: Appender, records: Iterable<OutRecord>): Promise<void> {
  let batch: OutRecord[] = [];
  const written: Promise<void>[] = [];
  for (const record of records) {
    batch.push(record);
    if (batch.length < BATCH) continue;
    written.push(appender.append(batch));
    batch = [];
    if (written.length < BATCHES_AHEAD) continue;
    await written.shift();
  }
  await Promise.all([...written, appender.append(batch)]);
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
