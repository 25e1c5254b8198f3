import { type Admin } from 'kafkajs';
import { AppError, messageOf } from '../service/errors';
import { type Bounds } from './consumer/unassigned-lag';

/**
 * Asks brokers for offsets, and again while leaders are being found: a topic that another process made a moment ago is
 * listed before its partitions are led, and kafkajs gives up at the first broker that says so.
 */

const WITHIN_MS = 10_000;
/** At a start. A loaded broker needs so long for the leaders of some hundred new partitions. */
export const START_WITHIN_MS = 60_000;
const PAUSE_MS = 100;

/** @throws what `look` throws, where it is not worth another try or none has helped within `withinMs` */
export async function whileLeadersAreFound<T>(look: () => Promise<T>, withinMs = WITHIN_MS): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!isLeaderless(error) || Date.now() >= until) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

const LEADERLESS = new Set<unknown>(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'UNKNOWN_TOPIC_OR_PARTITION']);

/** kafkajs wraps the broker's error where it has given up its own tries. */
function isLeaderless(error: unknown): boolean {
  const { type, cause } = (error ?? {}) as { type?: unknown; cause?: unknown };
  return LEADERLESS.has(type) || (cause !== undefined && cause !== error && isLeaderless(cause));
}

/** The first offset of each partition of a topic, and its end. */
export async function readBounds(admin: Admin, topic: string): Promise<Map<number, Bounds>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: Number(low), high: Number(high) }]));
}

/** What kafkajs throws where brokers are away, as what those who ask of the port understand. */
export function unavailable(cause: unknown): AppError {
  return new AppError('kafka_unavailable', `Kafka could not be read (${messageOf(cause)})`, true, { cause });
}

/** @throws AppError `kafka_unavailable` */
export async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw unavailable(error);
  }
}
