import { type Log } from '../../telemetry/log';
import { ERROR } from '../protocol/error-codes';

/**
 * States what the error of a partition means for its records
 * (https://kafka.apache.org/protocol#protocol_error_codes).
 *
 * - `again`: no record was written, and another try may succeed.
 * - `unsure`: the records may have been written nevertheless, and another try may succeed.
 * - `record`: one record of the batch will never be accepted.
 * - `refused`: no record was written, and another try succeeds only after an operator has changed
 *   something.
 */
type Fate = 'again' | 'unsure' | 'record' | 'refused';

export interface ProduceError {
  name: string;
  fate: Fate;
}

const KNOWN = new Map<number, ProduceError>([
  [2, { name: 'CORRUPT_MESSAGE', fate: 'again' }],
  // A broker that stops leading a partition also answers so for records that it has appended and
  // its followers may have.
  [3, { name: 'UNKNOWN_TOPIC_OR_PARTITION', fate: 'unsure' }],
  [5, { name: 'LEADER_NOT_AVAILABLE', fate: 'unsure' }],
  [6, { name: 'NOT_LEADER_FOR_PARTITION', fate: 'unsure' }],
  [7, { name: 'REQUEST_TIMED_OUT', fate: 'unsure' }],
  [10, { name: 'MESSAGE_TOO_LARGE', fate: 'record' }],
  [17, { name: 'INVALID_TOPIC_EXCEPTION', fate: 'refused' }],
  [18, { name: 'RECORD_LIST_TOO_LARGE', fate: 'record' }],
  [19, { name: 'NOT_ENOUGH_REPLICAS', fate: 'again' }],
  [20, { name: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', fate: 'unsure' }],
  [29, { name: 'TOPIC_AUTHORIZATION_FAILED', fate: 'refused' }],
  [31, { name: 'CLUSTER_AUTHORIZATION_FAILED', fate: 'refused' }],
  // A topic that keeps the client's time refuses all records of a machine whose clock is wrong.
  [32, { name: 'INVALID_TIMESTAMP', fate: 'refused' }],
  [35, { name: 'UNSUPPORTED_VERSION', fate: 'refused' }],
  [43, { name: 'UNSUPPORTED_FOR_MESSAGE_FORMAT', fate: 'refused' }],
  // Kafka itself never answers so; hosted brokers and proxies do, to throttle or stop a client.
  [44, { name: 'POLICY_VIOLATION', fate: 'refused' }],
  [56, { name: 'KAFKA_STORAGE_ERROR', fate: 'unsure' }],
  [87, { name: 'INVALID_RECORD', fate: 'record' }],
]);

/** The leader is not known, or no connection to it could be made: no record was sent. */
export const NO_LEADER: ProduceError = { name: 'LEADER_NOT_AVAILABLE', fate: 'again' };
export const NOT_CONNECTED: ProduceError = { name: 'BROKER_UNREACHABLE', fate: 'again' };
/** A record names a partition that its topic does not have. */
export const UNKNOWN_PARTITION: ProduceError = { name: 'UNKNOWN_PARTITION', fate: 'record' };
/** The connection broke, or the answer did not come. */
export const NO_ANSWER: ProduceError = { name: 'NO_ANSWER', fate: 'unsure' };

/** @param code not 0 */
export function produceError(code: number): ProduceError {
  return KNOWN.get(code) ?? { name: `ERROR_${String(code)}`, fate: 'unsure' };
}

/** Reads the error that metadata has instead of a topic's partitions. */
export function topicError(code: number): ProduceError {
  const error = produceError(code);
  return code === ERROR.unknownTopic ? { ...error, fate: 'refused' } : error;
}

/** Names what an operator can do about a refusal. */
export const REMEDIES: ReadonlyMap<string, string> = new Map([
  ['TOPIC_AUTHORIZATION_FAILED', 'allow the user of this service to write the topic'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'allow the user of this service to write to the cluster'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 'create the topic'],
  ['INVALID_TIMESTAMP', 'set message.timestamp.type of the topic to LogAppendTime'],
]);

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
/** Leader elections and broker restarts may take this long, and are waited out. */
const BLOCKED_AFTER_MS = 1_000;

/**
 * Tracks since when a partition or a topic accepts no records, and when to try it next. Times are
 * in ms, by `performance.now()`.
 */
export class Backoff {
  #failures = 0;
  #since = Infinity;
  /** the last failure; undefined after a success */
  error: ProduceError | undefined;
  /** earliest time of the next try */
  notBefore = 0;
  /** true after a second of failures: callers should no longer wait without a limit */
  blocked = false;

  /** @param startedAt when the failed attempt started */
  failed(error: ProduceError, startedAt: number, now: number): void {
    this.error = error;
    this.#since = Math.min(this.#since, startedAt);
    this.blocked ||= now - this.#since >= BLOCKED_AFTER_MS;
    this.notBefore = now + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
    this.#failures++;
  }

  /**
   * Allows a try immediately, when the cause of the failures is gone. Blocks only after another
   * second of failures.
   */
  retry(): void {
    this.#failures = 0;
    this.#since = Infinity;
    this.notBefore = 0;
    this.blocked = false;
  }

  succeeded(): void {
    if (this.error === undefined) return;
    this.error = undefined;
    this.retry();
  }
}

/**
 * A partition that has accepted no records for a second; without a number, a topic that has been
 * unknown that long.
 */
export interface Blocked {
  topic: string;
  partition?: number;
  error: ProduceError;
}

/** The part of a request that its log needs. */
interface FailedRequest {
  node: number;
  parts: readonly { queue: { topic: string; partition: number; backoff: Backoff } }[];
}

const LOG_EVERY_MS = 1_000;

/**
 * Logs failures of the producer: failed attempts at most once a second, each blocked partition
 * once.
 */
export class FailureLog {
  #loggedAt = -Infinity;
  /** blocked partitions and topics, with the time of the report, by place */
  readonly #known = new Map<string, { blocked: Blocked; since: number }>();

  constructor(private readonly log: Log) {}

  /** true while a partition is reported as blocked and not yet as writable */
  get isOpen(): boolean {
    return this.#known.size > 0;
  }

  /** Logs a request that was not acknowledged, or not in all its parts. */
  failed({ node, parts }: FailedRequest, reason?: string): void {
    const failing = parts.filter(({ queue }) => queue.backoff.error !== undefined);
    // A permanently refused record is logged by `refused`, and its partition does not fail.
    if (failing.length === 0 && reason === undefined) return;
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    const first = failing[0]?.queue;
    this.log.warn(
      {
        broker: node,
        topic: first?.topic,
        partition: first?.partition,
        partitions: failing.length,
        reason: reason ?? first?.backoff.error?.name,
      },
      'produce.failed',
    );
  }

  /** Logs a record that was returned to its caller. */
  refused(place: string, reason: string): void {
    this.log.error({ place, reason }, 'produce.refused');
  }

  /** Logs that no broker returns the leaders of the partitions. */
  unknown(reason: string): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.log.warn({ reason }, 'produce.metadata_missing');
  }

  /** Reports partitions that became blocked, and those accepting records again. */
  report(blocked: Iterable<Blocked>): void {
    const now = performance.now();
    const over = new Set(this.#known.keys());
    for (const each of blocked) {
      const { topic, partition, error } = each;
      const place = `${topic}/${String(partition)}`;
      over.delete(place);
      if (this.#known.has(place)) continue;
      this.#known.set(place, { blocked: each, since: now });
      this.log.error(
        { topic, partition, reason: error.name, remedy: REMEDIES.get(error.name) },
        'partition.blocked',
      );
    }
    for (const place of over) {
      const { blocked: was, since } = this.#known.get(place) ?? {};
      this.#known.delete(place);
      const lastedMs = Math.round(now - (since ?? now));
      this.log.info(
        { topic: was?.topic, partition: was?.partition, lastedMs },
        'partition.writable',
      );
    }
  }
}
