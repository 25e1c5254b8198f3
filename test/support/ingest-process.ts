import { randomUUID } from 'node:crypto';
import { type ConfigRecord, configKey, type Source } from '../../shared/model/config';
import { connectKafka } from '../../shared/kafka/client/client';
import { type Kafka } from '../../shared/kafka/port';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { freePorts } from './free-port';
import { startService } from './service';
import { type Supervised } from './supervised';
import { FORMAT } from '../../shared/model/record-format';

/** Ingest alone, as a built process, and a connection to the same Kafka. */
export interface IngestProcess {
  process: Supervised;
  kafka: Kafka;
  /** of its topics */
  prefix: string;
  url: string;
  /** the reasons of `/readyz`; undefined if it does not answer */
  notReady(): Promise<string[] | undefined>;
  /**
   * Writes sources to `config`, as control does. When this resolves, ingest may not have read them
   * yet.
   */
  addSources(...sources: Source[]): Promise<void>;
  /** POSTs with `key` as the user name of Basic authentication. */
  post(
    key: string,
    path: string,
    body: unknown,
  ): Promise<{ status: number; body: Record<string, unknown>; ms: number }>;
  close(): Promise<void>;
}

/** Starts ingest and waits until it is ready. @param brokers host:port, … */
export async function startIngestProcess(
  brokers: string,
  { more = {}, within = [] }: { more?: Record<string, string>; within?: readonly string[] } = {},
): Promise<IngestProcess> {
  const [port, healthPort] = await freePorts(2);
  const prefix = `ingest-${randomUUID().slice(0, 8)}.`;
  const env = {
    KAFKA_BROKERS: brokers,
    WAYPOST_TOPIC_PREFIX: prefix,
    WAYPOST_PARTITIONS: '3',
    WAYPOST_REPLICATION: '1',
    WAYPOST_HOST: '127.0.0.1',
    WAYPOST_INGEST_PORT: String(port),
    WAYPOST_INGEST_HEALTH_PORT: String(healthPort),
    ...more,
  };
  const ingest = await startService('ingest', env, within);
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  return {
    process: ingest,
    kafka,
    prefix,
    url: `http://127.0.0.1:${port!}`,
    notReady: ingest.notReady,
    addSources: (...sources) => writeSources(kafka, sources),
    post: (key, path, body) => post(`http://127.0.0.1:${port!}${path}`, key, body),
    async close() {
      await ingest.kill();
      await kafka.close();
    },
  };
}

async function writeSources(kafka: Kafka, sources: Source[]): Promise<void> {
  const producer = await kafka.producer({ maxPendingBytes: 1e6, deliveryTimeoutMs: 5_000 });
  const at = new Date().toISOString();
  await producer.send(
    sources.map((data) => {
      const record: ConfigRecord = {
        format: FORMAT,
        kind: 'source',
        id: data.id,
        version: 1,
        replaces: 0,
        at,
        data,
      };
      return { topic: 'config', key: configKey('source', data.id), value: JSON.stringify(record) };
    }),
  );
  await producer.close(1_000);
}

async function post(url: string, key: string, body: unknown) {
  const started = Date.now();
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` },
    body: JSON.stringify(body),
  });
  const parsed = (await answer.json()) as Record<string, unknown>;
  return { status: answer.status, body: parsed, ms: Date.now() - started };
}
