import { createAuthenticator } from '../../shared/config/authentication';
import { createEncryptor } from '../../shared/config/encryption';
import { openConfig } from '../../shared/config/reader';
import { openWriter, type Write } from '../../shared/config/writer';
import { connectKafka } from '../../shared/kafka/client/client';
import { type BatchProducer, type Kafka, type OutRecord } from '../../shared/kafka/port';
import { MESSAGES, WEBHOOKS } from '../../shared/kafka/topics';
import {
  DEFAULT_SHARDS,
  type Destination,
  type Kinds,
  type Source,
} from '../../shared/model/config';
import {
  type Delivery,
  deliveryId,
  deliveryKey,
  encodeDelivery,
} from '../../shared/model/delivery';
import { writeMessage } from '../../shared/model/cut-body';
import { type Message, messageHeaders, messageKey } from '../../shared/model/message';
import { secretFields } from '../../shared/model/secret-fields';
import { loadSettings, requireSecretKeys, type Settings } from '../../shared/runtime/settings';
import { createLog, type Log } from '../../shared/telemetry/log';
import { newTraceparent } from '../../shared/telemetry/trace';
import { bodyOf, SECRET, userOf } from './payload';

/** Fills a system's topics as control and router do, for a service that is measured alone. */

/** Records handed over together: the size of one produce request. */
const BATCH = 500;
const BATCHES_AHEAD = 4;
/** The default of the settings. */
const WINDOW_MS = 4 * 3_600_000;
const MAX_PENDING_BYTES = 64 * 1024 * 1024;

/** Writes as control and router do. */
export interface Seeder {
  kafka: Kafka;
  /**
   * Writes one signed destination for each URL.
   * @param more additional fields of each
   */
  destinations(urls: readonly string[], more?: Partial<Destination>): Promise<Destination[]>;
  /** Writes new entries of `config`. */
  write(entries: readonly Entry[]): Promise<void>;
  /** Resolves when all are acknowledged. */
  append(records: Iterable<OutRecord>): Promise<void>;
  close(): Promise<void>;
}

/** @param env of the system */
export async function openSeeder(env: Record<string, string>): Promise<Seeder> {
  const settings = loadSettings(env);
  const log = createLog('bench', 'error');
  const kafka = await connectKafka(settings, { clientId: 'bench', log });
  const producer = await kafka.producer({
    maxPendingBytes: MAX_PENDING_BYTES,
    deliveryTimeoutMs: 'retry',
  });
  return {
    kafka,
    destinations: async (urls, more = {}) => {
      const destinations = urls.map((url, i) => ({
        ...destinationOf(`dst_bench${String(i)}`, url, settings),
        ...more,
      }));
      const entries = destinations.map((data): Entry => ({ kind: 'destination', data }));
      await writeEntries({ kafka, producer, settings, log }, entries);
      return destinations;
    },
    write: (entries) => writeEntries({ kafka, producer, settings, log }, entries),
    append: (records) => appendAll(producer, records),
    close: async () => {
      await producer.close(1_000);
      await kafka.close();
    },
  };
}

/**
 * Writes one destination for each URL, and `count` rendered deliveries for them in rotation.
 * @param options.more additional fields of each destination
 */
export async function seedDeliveries(
  env: Record<string, string>,
  options: { urls: readonly string[]; count: number; more?: Partial<Destination> },
): Promise<void> {
  const seeder = await openSeeder(env);
  try {
    const destinations = await seeder.destinations(options.urls, options.more);
    await seeder.append(firstAttempts(destinations, { from: 0, count: options.count }));
  } finally {
    await seeder.close();
  }
}

/**
 * Yields rendered deliveries without attempts, for the destinations in rotation.
 * @param range.from unique numbers
 */
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

/** Returns a delivery as it leaves the router now. */
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
    excludedUrls: [],
    traceparent: newTraceparent(),
  };
}

/** Returns a message as ingest appends it. */
export function messageRecord(message: Message): OutRecord {
  const { value, body } = writeMessage(message);
  const headers = messageHeaders(SOURCE, message, {
    acceptedAtMs: Date.now(),
    traceparent: newTraceparent(),
    body,
  });
  return { topic: MESSAGES, key: messageKey(SOURCE, message), value, headers };
}

export function deliveryRecord(
  topic: string,
  delivery: Delivery & { userId: string },
  value: string,
): OutRecord {
  const key = deliveryKey(delivery.destinationId, delivery.userId, DEFAULT_SHARDS);
  return { topic, key, value, headers: encodeDelivery(delivery) };
}

/**
 * Hands over the records of a few requests at a time, and creates the next ones while Kafka writes.
 */
async function appendAll(producer: BatchProducer, records: Iterable<OutRecord>): Promise<void> {
  let batch: OutRecord[] = [];
  const written: Promise<void>[] = [];
  for (const record of records) {
    batch.push(record);
    if (batch.length < BATCH) continue;
    written.push(producer.send(batch));
    batch = [];
    if (written.length < BATCHES_AHEAD) continue;
    await written.shift();
  }
  await Promise.all([...written, producer.send(batch)]);
}

/** The source of the messages of a benchmark. */
export const SOURCE = 'src_bench';

/** One entry, of any kind. */
type Entry = { [K in keyof Kinds]: { kind: K; data: Kinds[K] } }[keyof Kinds];

/** Appends entries of `config` as control does, as first versions, many at a time. */
async function writeEntries(
  {
    kafka,
    producer,
    settings,
    log,
  }: { kafka: Kafka; producer: BatchProducer; settings: Settings; log: Log },
  entries: readonly Entry[],
): Promise<void> {
  const authenticator = createAuthenticator(requireSecretKeys(settings));
  const config = await openConfig(kafka, {
    name: 'bench',
    authenticator,
    log,
    onFatal: (error) => log.error(error),
  });
  const writer = openWriter({ config, producer, authenticator, log, now: () => new Date() });
  try {
    for (let i = 0; i < entries.length; i += BATCH) {
      const batch = entries.slice(i, i + BATCH);
      await writer.inTurn((write) => Promise.all(batch.map((entry) => writeOne(write, entry))));
    }
  } finally {
    await writer.close();
    await config.stop();
  }
}

function writeOne<K extends keyof Kinds>(
  write: Write,
  { kind, data }: { kind: K; data: Kinds[K] },
): Promise<unknown> {
  return write(kind, data.id, data, { replaces: 0 });
}

function destinationOf(id: string, url: string, settings: Settings): Destination {
  const encryptor = createEncryptor(requireSecretKeys(settings));
  return {
    id,
    name: id,
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: [SOURCE],
    webhooks: [
      {
        id: `${id}_1`,
        url: encryptor.encrypt(url, secretFields.url(id, `${id}_1`)),
        origin: new URL(url).origin,
        headers: {},
      },
    ],
    secrets: { current: encryptor.encrypt(SECRET, secretFields.sharedSecret(id)) },
    ...dates(),
  };
}

/** @param more additional fields of this source */
export function sourceOf(id: string, more: Partial<Source> = {}): Source {
  return { id, name: id, enabled: true, writeKeys: [], ...dates(), ...more };
}

/** Returns creation and update time: now. */
function dates(): { createdAt: string; updatedAt: string } {
  const at = new Date().toISOString();
  return { createdAt: at, updatedAt: at };
}
