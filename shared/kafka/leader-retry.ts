import { type Admin } from 'kafkajs';
import { sleep } from '../service/async';
import { AppError, messageOf } from '../service/errors';

/**
 * Retries look-ups of offsets while partitions have no leader: a topic that another process has just created is listed
 * before its partitions have leaders, and kafkajs fails at the first broker that says so.
 */

const WITHIN_MS = 10_000;
/** The limit at a start: a loaded broker may need this long for the leaders of some hundred new partitions. */
export const START_WITHIN_MS = 60_000;
const PAUSE_MS = 100;

/** Repeats `look` while leaders are missing. @throws its error, if it is another one or `withinMs` is over */
export async function whileLeadersAreFound<T>(look: () => Promise<T>, withinMs = WITHIN_MS): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!isLeaderless(error) || performance.now() >= until) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

const LEADERLESS = new Set<unknown>(['NOT_LEADER_FOR_PARTITION', 'LEADER_NOT_AVAILABLE', 'UNKNOWN_TOPIC_OR_PARTITION']);

/** Looks into causes as well: kafkajs wraps the broker's error after its last retry. */
function isLeaderless(error: unknown): boolean {
  const { type, cause } = (error ?? {}) as { type?: unknown; cause?: unknown };
  return LEADERLESS.has(type) || (cause !== undefined && cause !== error && isLeaderless(cause));
}

/** First and end offset of a partition. */
export interface Bounds {
  low: number;
  /** the offset of the next record */
  high: number;
}

/** Returns the first and end offset of each partition of a topic. */
export async function readBounds(admin: Admin, topic: string): Promise<Map<number, Bounds>> {
  const offsets = await admin.fetchTopicOffsets(topic);
  return new Map(offsets.map(({ partition, low, high }) => [partition, { low: Number(low), high: Number(high) }]));
}

/** Converts an error of kafkajs into the error that callers of the port expect. */
export function unavailable(cause: unknown): AppError {
  return new AppError('kafka_unavailable', `Kafka could not be read (${messageOf(cause)})`, true, { cause });
}

/** Awaits a look-up. @throws AppError `kafka_unavailable` if it fails */
export async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw unavailable(error);
  }
}
