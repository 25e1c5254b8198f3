import { readEvents } from '../../shared/model/attempt-rows';
import { decodeDelivery } from '../../shared/model/delivery';
import { connectKafka } from '../../shared/kafka/client/client';
import { type InRecord, type Kafka } from '../../shared/kafka/port';
import { ATTEMPTS, DEAD, MESSAGES, TIER_PREFIX } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { Commits, COMMITS } from './commits';
import { History } from './history';

/** Reads the records after the run: from the beginning of each topic to its end. */

const READ_MS = 300_000;

/** @param watched deliveries whose attempts are read individually */
export async function readHistory(
  env: Record<string, string>,
  watched: ReadonlySet<string>,
): Promise<{ history: History; commits: Commits }> {
  const history = new History(watched);
  const commits = new Commits('waypost-delivery');
  await withKafka(env, async (kafka) => {
    await readAll(kafka, MESSAGES, ({ headers }) =>
      history.message(headers.message?.toString() ?? ''),
    );
    await readAll(kafka, ATTEMPTS, ({ value, timestampMs }) => {
      for (const event of readEvents(value)) history.event(event, timestampMs);
    });
    await readAll(kafka, DEAD, ({ headers }) => {
      const decoded = decodeDelivery(headers);
      if (decoded.kind === 'delivery') {
        history.letter(decoded.delivery.id, decoded.delivery.reason ?? '');
      }
    });
    for (const tier of (await kafka.listTopics()).filter((topic) =>
      topic.startsWith(TIER_PREFIX),
    )) {
      await readAll(kafka, tier, ({ headers, timestampMs }) => {
        const decoded = decodeDelivery(headers);
        if (decoded.kind !== 'delivery') return;
        const { id, hop, attempt: attempts, expiresAt } = decoded.delivery;
        history.tierRecord(id, { hop, attempts, writtenAt: timestampMs, expiresAt });
      });
    }
    await readAll(kafka, COMMITS, ({ key, value, timestampMs }) =>
      commits.take(key, value, timestampMs),
    );
  });
  if (!commits.some) throw new Error('no commits were found: nothing could be said about repeats');
  return { history, commits };
}

/** Returns all records of these messages in every topic, one line each, for an investigation. */
export async function traceMessages(
  env: Record<string, string>,
  messages: ReadonlySet<string>,
): Promise<string[]> {
  const lines: string[] = [];
  await withKafka(env, async (kafka) => {
    for (const topic of await kafka.listTopics()) {
      if (topic.startsWith('__') || topic === 'config') continue;
      await readAll(kafka, topic, (record) => {
        const at = new Date(record.timestampMs).toISOString();
        const note = (message: string, what: string) => {
          if (!messages.has(message)) return;
          lines.push(`${message} ${at} ${topic}/${record.partition}/${record.offset} ${what}`);
        };
        if (topic === ATTEMPTS) {
          for (const event of readEvents(record.value)) {
            if (event.kind !== 'circuit') note(event.message, JSON.stringify(event));
          }
          return;
        }
        const headers = ['destination', 'attempt', 'hop', 'reason', 'error'].map(
          (name) => record.headers[name] ?? '',
        );
        const inBody = /"messageId":"([^"]+)"/.exec(String(record.value))?.[1];
        note(record.headers.message ?? inBody ?? '', headers.join(' '));
      });
    }
  });
  return lines.sort();
}

async function withKafka(
  env: Record<string, string>,
  use: (kafka: Kafka) => Promise<void>,
): Promise<void> {
  const kafka = await connectKafka(loadSettings(env), {
    clientId: 'chaos',
    log: createLog('chaos', 'silent'),
  });
  try {
    await use(kafka);
  } finally {
    await kafka.close();
  }
}

async function readAll(
  kafka: Kafka,
  topic: string,
  onRecord: (record: InRecord) => void,
): Promise<void> {
  const onFatal = (error: unknown) => {
    throw error;
  };
  const tail = await kafka.tail({
    name: `chaos-${topic}`,
    topic,
    from: 'beginning',
    onRecord,
    onFatal,
  });
  await tail.caughtUp(READ_MS);
  await tail.stop();
}
