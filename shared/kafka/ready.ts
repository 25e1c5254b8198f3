import { type Admin, type KafkaConfig, Kafka as KafkaJs, logLevel } from 'kafkajs';
import { AppError, messageOf } from '../errors';
import { requireBrokers, type Settings } from '../settings';

/**
 * Says when Kafka can be used, which is later than when its port answers: a new broker refuses consumer groups while
 * their coordinator loads, and kafkajs reports that as errors.
 */

/** Where Kafka is and how to be let in. */
export interface KafkaAddress {
  brokers: string[];
  ssl?: boolean;
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string };
}

/** The address that the settings name. @throws AppError `bad_settings` without KAFKA_BROKERS */
export function kafkaAddress(settings: Settings): KafkaAddress {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = settings;
  const address = { brokers: requireBrokers(settings), ssl: settings.KAFKA_SSL };
  return mechanism && username && password ? { ...address, sasl: { mechanism, username, password } } : address;
}

const PAUSE_MS = 100;
const CONNECT_TIMEOUT_MS = 2_000;
/**
 * Groups are spread over the partitions of `__consumer_offsets` by the hash of their name. Names that differ in their
 * last letter by one have hashes that differ by one: so many of them reach so many coordinators.
 */
const PROBES = ['waypost-ready-a', 'waypost-ready-b', 'waypost-ready-c'];

/**
 * Resolves when a broker answers, has a controller, and coordinates consumer groups.
 * @param giveUp ends the wait early
 * @throws AppError `cannot_start` after `deadlineMs`, in one sentence that names the brokers and the last reason
 */
export async function waitForKafka(address: KafkaAddress, deadlineMs: number, giveUp?: AbortSignal): Promise<void> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    const reason = await attempt(address);
    if (reason === undefined) return;
    if (giveUp?.aborted || Date.now() + PAUSE_MS >= until) {
      throw new AppError('cannot_start', `Kafka cannot be reached at ${address.brokers.join(', ')}: ${reason}.`);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** One look at Kafka. Returns why it is not ready, or undefined where it is. */
async function attempt(address: KafkaAddress): Promise<string | undefined> {
  const admin = new KafkaJs({ ...clientConfig(address), clientId: 'waypost-ready' }).admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    return await probe(admin);
  } catch (error) {
    return plainReason(error);
  } finally {
    await admin.disconnect();
  }
}

async function probe(admin: Admin): Promise<string | undefined> {
  const { controller } = await admin.describeCluster();
  if (controller === null || controller < 0) return 'it has no controller yet';
  for (const groupId of PROBES) await admin.fetchOffsets({ groupId, topics: [] });
  return undefined;
}

function clientConfig(address: KafkaAddress): KafkaConfig {
  const { brokers, ssl, sasl } = address;
  return {
    brokers,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl: sasl as NonNullable<KafkaConfig['sasl']> }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: 10_000,
    retry: { retries: 0 },
    // Every refusal before the broker is up is expected here, and the last one is in the error.
    logLevel: logLevel.NOTHING,
  };
}

/** kafkajs wraps the cause of a failed connection; the sentence wants the cause, without a full stop. */
function plainReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause).replace(/\.$/, '');
}
