import { AppError, messageOf } from '../../runtime/errors';
import { requireBrokers, type Settings } from '../../runtime/settings';
import { type Admin, type Kafka as KafkaJs, type KafkaConfig, logLevel } from 'kafkajs';
import { sleep } from '../../runtime/async';
import { type Log } from '../../telemetry/log';
import { kafkajsClient } from './patches';
import { readSettingFile, saslOf } from './sasl/sasl';

/**
 * Connects to Kafka without the rest of the client: its address, and the wait until it can be used,
 * which is later than the first answer of its port. A new broker refuses consumer groups while
 * their coordinator loads, and kafkajs reports that as errors.
 */

const PAUSE_MS = 100;
const CONNECT_TIMEOUT_MS = 2_000;
/**
 * A working broker answers sooner. After a longer silence the sessions of all consumers may have
 * ended.
 */
const PROMPT_MS = 2_000;
/** Twice the time in which consumers return to their partitions (consumer/membership.ts). */
export const OTHERS_RETURN_MS = 6_000;
/**
 * Groups are spread over the partitions of `__consumer_offsets` by the hash of their name. Names
 * whose last letters follow each other have hashes that follow each other, so that three names
 * reach three coordinators.
 */
const PROBES = ['waypost-ready-a', 'waypost-ready-b', 'waypost-ready-c'];

/** Addresses of the brokers, with TLS and authentication. */
export type KafkaAddress = { brokers: string[] } & Pick<KafkaConfig, 'ssl' | 'sasl'>;

/**
 * Returns the address from the settings. @throws AppError `bad_settings` without KAFKA_BROKERS, or
 * for an unreadable file
 */
export function kafkaAddress(settings: Settings): KafkaAddress {
  const sasl = saslOf(settings);
  const address = { brokers: requireBrokers(settings), ssl: settings.KAFKA_SSL && tlsOf(settings) };
  return sasl === undefined ? address : { ...address, sasl };
}

/**
 * Returns properties that read their PEM file at each use: kafkajs copies them for each new
 * connection.
 */
function tlsOf(settings: Settings): NonNullable<KafkaConfig['ssl']> {
  const tls = {};
  for (const name of ['ca', 'cert', 'key'] as const) {
    const setting = `KAFKA_SSL_${name.toUpperCase() as Uppercase<typeof name>}_FILE` as const;
    if (settings[setting] === undefined) continue;
    const get = () => readSettingFile(setting, settings);
    // A missing file ends the start.
    get();
    Object.defineProperty(tls, name, { enumerable: true, get });
  }
  return Object.keys(tls).length === 0 || tls;
}

/**
 * Resolves when a broker answers, has a controller, and coordinates consumer groups.
 * @param giveUp ends the wait early
 * @throws AppError `cannot_start` after `deadlineMs`, with one sentence that names the brokers and
 *   the last reason
 */
export async function waitForKafka(
  address: KafkaAddress,
  deadlineMs: number,
  giveUp?: AbortSignal,
): Promise<void> {
  const until = performance.now() + deadlineMs;
  for (;;) {
    const probe = await probeKafka(address);
    if (probe.state === 'ready') return;
    if (giveUp?.aborted || performance.now() + PAUSE_MS >= until) {
      throw new AppError(
        'cannot_start',
        `Kafka cannot be reached at ${address.brokers.join(', ')}: ${probe.reason}.`,
      );
    }
    await sleep(PAUSE_MS);
  }
}

/**
 * Waits, if the broker stood still, until other processes have returned to their consumer groups. A
 * consumer that joins first would be assigned their partitions, and repeat what they have done
 * since their last commits.
 * @param connectMs time that this process needed to connect
 */
export async function letOthersReturn(connectMs: number, log: Log): Promise<void> {
  if (connectMs < PROMPT_MS) return;
  log.info({ connectMs, waitMs: OTHERS_RETURN_MS }, 'kafka.answered_late');
  await sleep(OTHERS_RETURN_MS, { ref: false });
}

/** Connects an admin. @throws AppError `cannot_start`, with one sentence that says what to check */
export async function connectAdmin(admin: Admin, brokers: string[]): Promise<void> {
  try {
    await admin.connect();
  } catch (error) {
    const [names, reason] = [brokers.join(', '), messageOf(error)];
    throw new AppError(
      'cannot_start',
      isLogin(error)
        ? `this process cannot log in to Kafka at ${names} (${reason}); check KAFKA_SASL_*`
        : `no Kafka broker answers at ${names} (${reason}); check KAFKA_BROKERS and that the ` +
            'broker runs',
      true,
      { cause: error },
    );
  }
}

/** Tells whether a broker refused the user, or no token could be had. */
function isLogin(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    error.name === 'KafkaJSSASLAuthenticationError' ||
    error instanceof AppError ||
    isLogin(error.cause)
  );
}

/** Result of one probe of Kafka. `refuses_groups`: it answers, but no consumer can work with it. */
export type KafkaProbe = { state: 'ready' } | { state: 'away' | 'refuses_groups'; reason: string };

/** Probes Kafka once, within the timeout of a request. */
export async function probeKafka(address: KafkaAddress): Promise<KafkaProbe> {
  const admin = briefClient(address, 'waypost-ready').admin({ retry: { retries: 0 } });
  try {
    await admin.connect();
    const { controller } = await admin.describeCluster();
    if (controller === null || controller < 0) {
      return { state: 'away', reason: 'it has no controller yet' };
    }
    return await probeGroups(admin);
  } catch (error) {
    return { state: 'away', reason: plainReason(error) };
  } finally {
    await admin.disconnect();
  }
}

async function probeGroups(admin: Admin): Promise<KafkaProbe> {
  try {
    for (const groupId of PROBES) await admin.fetchOffsets({ groupId, topics: [] });
    return { state: 'ready' };
  } catch (error) {
    return { state: 'refuses_groups', reason: plainReason(error) };
  }
}

/** Returns a client for a few requests, without retries and without logging. */
export function briefClient(address: KafkaAddress, clientId: string): KafkaJs {
  return kafkajsClient({
    ...address,
    clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: 10_000,
    retry: { retries: 0 },
    // Refusals are expected until the broker is up, and the error contains the last one.
    logLevel: logLevel.NOTHING,
  });
}

/**
 * Returns the cause of an error, which kafkajs wraps, without a full stop: it becomes part of a
 * sentence.
 */
function plainReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return messageOf(cause).trim().replace(/\.$/, '');
}
