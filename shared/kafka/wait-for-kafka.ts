import { type Admin, type KafkaConfig, Kafka as KafkaJs, logLevel } from 'kafkajs';
import { sleep } from '../service/async';
import { AppError, messageOf } from '../service/errors';
import { type KafkaAddress } from './connection-settings';
import { allowLeaderless } from './kafkajs/leaderless';

/**
 * Waits until Kafka can be used, which is later than the first answer of its port: a new broker refuses consumer groups
 * while their coordinator loads, and kafkajs reports that as errors.
 */

const PAUSE_MS = 100;
const CONNECT_TIMEOUT_MS = 2_000;
/**
 * Groups are spread over the partitions of `__consumer_offsets` by the hash of their name. Names whose last letters
 * follow each other have hashes that follow each other, so that three names reach three coordinators.
 */
const PROBES = ['waypost-ready-a', 'waypost-ready-b', 'waypost-ready-c'];

/**
 * Resolves when a broker answers, has a controller, and coordinates consumer groups.
 * @param giveUp ends the wait early
 * @throws AppError `cannot_start` after `deadlineMs`, with one sentence that names the brokers and the last reason
 */
export async function waitForKafka(address: KafkaAddress, deadlineMs: number, giveUp?: AbortSignal): Promise<void> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const look = await probeKafka(address);
    if (look.state === 'ready') return;
    if (giveUp?.aborted || performance.now() + PAUSE_MS >= until) {
      throw new AppError('cannot_start', `Kafka cannot be reached at ${address.brokers.join(', ')}: ${look.reason}.`);
    }
    await sleep(PAUSE_MS);
  }
}

/** Result of one probe of Kafka. `refuses_groups`: it answers, but no consumer can work with it. */
export type Look = { state: 'ready' } | { state: 'away' | 'refuses_groups'; reason: string };

/** Probes Kafka once, within the timeout of a request. */
export async function probeKafka(address: KafkaAddress): Promise<Look> {
  const client = new KafkaJs({ ...lookConfig(address), clientId: 'waypost-ready' });
  const admin = allowLeaderless(client, 'all').admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    const { controller } = await admin.describeCluster();
    if (controller === null || controller < 0) return { state: 'away', reason: 'it has no controller yet' };
    return await lookAtGroups(admin);
  } catch (error) {
    return { state: 'away', reason: plainReason(error) };
  } finally {
    await admin.disconnect();
  }
}

async function lookAtGroups(admin: Admin): Promise<Look> {
  try {
    for (const groupId of PROBES) await admin.fetchOffsets({ groupId, topics: [] });
    return { state: 'ready' };
  } catch (error) {
    return { state: 'refuses_groups', reason: plainReason(error) };
  }
}

/** Returns the configuration for a single probe: no retries, and no logging. */
export function lookConfig(address: KafkaAddress): KafkaConfig {
  const { brokers, ssl, sasl } = address;
  return {
    brokers,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl: sasl as NonNullable<KafkaConfig['sasl']> }),
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: 10_000,
    retry: { retries: 0 },
    // Refusals are expected until the broker is up, and the error contains the last one.
    logLevel: logLevel.NOTHING,
  };
}

/** Returns the cause of an error, which kafkajs wraps, without a full stop: it becomes part of a sentence. */
function plainReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause).trim().replace(/\.$/, '');
}
