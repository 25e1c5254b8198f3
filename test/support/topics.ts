import { type AttemptEvent, type DeliveryEvent } from '../../shared/model/attempt-events';
import { readEvents } from '../../shared/model/attempt-rows';
import { decodeDelivery, type Delivery } from '../../shared/model/delivery';
import { connectKafka } from '../../shared/kafka/client/client';
import { type InRecord, type Kafka } from '../../shared/kafka/port';
import { scan } from '../../shared/kafka/scan';
import { ATTEMPTS, DEAD } from '../../shared/kafka/topics';
import { loadSettings } from '../../shared/runtime/settings';
import { createLog } from '../../shared/telemetry/log';
import { eventually } from './eventually';
import { type System } from '../../tools/harness/system';

/** Reads the records that a system writes to Kafka, as any consumer of its topics could. */

/** A dead letter of the topic. */
export interface DeadLetter {
  delivery: Delivery;
  body: Buffer;
}

export interface Topics {
  kafka: Kafka;
  /** Returns the events of a message's deliveries, in order for each delivery. */
  eventsOf(messageId: string): DeliveryEvent[];
  /** Returns the attempts of a message, without late additions. */
  attemptsOf(messageId: string): AttemptEvent[];
  deadOf(messageId: string): DeadLetter[];
  /** Waits for a matching event and returns it. */
  event<K extends DeliveryEvent['kind']>(
    messageId: string,
    kind: K,
    fits?: (event: Extract<DeliveryEvent, { kind: K }>) => boolean,
  ): Promise<Extract<DeliveryEvent, { kind: K }>>;
  /** Waits for a dead letter. */
  dead(messageId: string): Promise<DeadLetter>;
  close(): Promise<void>;
}

/** Reads `attempts` and `webhooks.dead` from the beginning. */
export async function openTopics(system: System): Promise<Topics> {
  const settings = loadSettings(system.env);
  const kafka = await connectKafka(settings, {
    clientId: 'test',
    log: createLog('test', 'silent'),
  });
  const events: DeliveryEvent[] = [];
  const dead: DeadLetter[] = [];
  const tails = await Promise.all([
    follow(kafka, ATTEMPTS, ({ value }) =>
      events.push(
        ...(readEvents(value).filter(({ kind }) => kind !== 'circuit') as DeliveryEvent[]),
      ),
    ),
    follow(kafka, DEAD, (record) => {
      const decoded = decodeDelivery(record.headers);
      if (decoded.kind !== 'delivery') {
        throw new Error(`a dead letter cannot be read: ${JSON.stringify(decoded)}`);
      }
      dead.push({ delivery: decoded.delivery, body: Buffer.from(record.value ?? '') });
    }),
  ]);
  const eventsOf = (messageId: string) => events.filter((event) => event.message === messageId);
  const deadOf = (messageId: string) =>
    dead.filter(({ delivery }) => delivery.messageId === messageId);
  return {
    kafka,
    eventsOf,
    attemptsOf: (messageId) =>
      eventsOf(messageId).filter(
        (event): event is AttemptEvent => event.kind === 'attempt' && !event.late,
      ),
    deadOf,
    event: <K extends DeliveryEvent['kind']>(
      messageId: string,
      kind: K,
      fits: (event: Extract<DeliveryEvent, { kind: K }>) => boolean = () => true,
    ) =>
      eventually(() => {
        const found = eventsOf(messageId)
          .filter((event): event is Extract<DeliveryEvent, { kind: K }> => event.kind === kind)
          .find(fits);
        if (!found) {
          throw new Error(
            `no such ${kind} of ${messageId} in ${JSON.stringify(eventsOf(messageId), null, 1)}`,
          );
        }
        return found;
      }),
    dead: (messageId) =>
      eventually(() => {
        const [letter] = deadOf(messageId);
        if (!letter) {
          throw new Error(
            `no dead letter of ${messageId}: ${JSON.stringify(eventsOf(messageId), null, 1)}`,
          );
        }
        return letter;
      }),
    close: async () => {
      await Promise.all(tails.map((tail) => tail.stop()));
      await kafka.close();
    },
  };
}

/** Returns all records of a topic, partition after partition. */
export async function readTopic(
  kafka: Pick<Kafka, 'ranges' | 'read'>,
  topic: string,
): Promise<InRecord[]> {
  const all: InRecord[] = [];
  for (const { partition, low, high } of await kafka.ranges(topic)) {
    for await (const { records } of scan(kafka, { topic, partition, from: low, to: high })) {
      all.push(...records);
    }
  }
  return all;
}

async function follow(kafka: Kafka, topic: string, onRecord: (record: InRecord) => void) {
  const onFatal = (error: unknown) => {
    throw error;
  };
  return kafka.tail({ name: `test-${topic}`, topic, from: 'beginning', onRecord, onFatal });
}
