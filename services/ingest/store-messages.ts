import { withDeadline } from '../../shared/runtime/async';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { type BatchProducer, type OutRecord } from '../../shared/kafka/port';
import { NONE_REFUSED, type Refused, sendEach } from '../../shared/kafka/send-each';
import { metrics } from '../../shared/telemetry/metrics';
import { type Log } from '../../shared/telemetry/log';
import { type RefusalCode } from './responses';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type AcceptedCall } from './calls/validate-request';
import { type Steps } from './calls/steps';
import { messageHeaders, messageKey } from '../../shared/model/message';
import { MESSAGES } from '../../shared/kafka/topics';
import { newTraceparent } from '../../shared/telemetry/trace';
import { callsOf } from './rejected-records';
import { type UnrecordedCounts } from './unrecorded-counts';

/** Makes the records of valid calls, and stores them with those of rejected calls. */

/** Resolves once the records are stored, or once the response must be sent. */
export type Store = (toStore: ToStore) => Promise<StoreResult>;

interface ToStore {
  messages: OutRecord[];
  /**
   * records of rejected calls: dropped if Kafka refuses them, so that the valid calls need not wait
   * for an ACL
   */
  rejected: OutRecord[];
  /** by `performance.now()` */
  receivedSteadyMs: number;
}

export interface StoreResult {
  /** the reason why it is not certain that all are stored */
  failed: RefusalCode | undefined;
  /** the messages that Kafka refuses for good, by their index: all others are stored */
  refused: Refused;
}

const dropped = metrics
  .counter({
    name: 'waypost.messages.rejected.not_stored',
    help:
      'Rejected calls that Kafka refused to store in `messages.rejected`, most often because ' +
      'of an ACL. The valid calls of their batch are stored.',
  })
  .of();

export interface StoreParts {
  producer: BatchProducer;
  counts: Pick<UnrecordedCounts, 'addRejected'>;
  log: Log;
  /** from the end of the body to the response; clients are promised 5 s */
  responseDeadlineMs: number;
}

export function createStore(parts: StoreParts): Store {
  const mayLog = logThrottle(1_000, 16);
  const { producer, counts, log } = parts;
  // Kafka may still store the records after `waitMs`. The client sends them again with the same
  // `messageId`, by which the router drops the second copy.
  const sendWithin = (records: OutRecord[], waitMs: number) =>
    withDeadline(waitMs, sendEach(producer, records));
  const drop = (records: readonly OutRecord[], reason: string) => {
    const calls = callsOf(records);
    dropped.value += calls;
    if (mayLog('rejected')) log.warn({ calls, reason }, 'rejected.not_stored');
  };
  const storeRejected = async (records: OutRecord[], waitMs: number) => {
    try {
      const refused = await sendWithin(records, waitMs);
      const stored = records.filter((_, i) => !refused.has(i));
      const lost = records.filter((_, i) => refused.has(i));
      const [first] = refused.values();
      if (first) drop(lost, first.message);
      counts.addRejected(callsOf(stored) - stored.length);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'kafka_refused') throw error;
      drop(records, error.message);
    }
  };
  return async ({ messages, rejected, receivedSteadyMs }) => {
    // The check of an unknown key has used up part of the time.
    const waitMs = parts.responseDeadlineMs - (performance.now() - receivedSteadyMs);
    try {
      const writing = messages.length > 0 ? sendWithin(messages, waitMs) : NONE_REFUSED;
      if (rejected.length > 0) await Promise.all([writing, storeRejected(rejected, waitMs)]);
      return { failed: undefined, refused: await writing };
    } catch (error) {
      const code =
        error instanceof AppError && error.code === 'overloaded'
          ? 'overloaded'
          : 'kafka_unavailable';
      const records = messages.length + rejected.length;
      if (mayLog(code)) log.warn({ code, records, reason: messageOf(error) }, 'calls.not_stored');
      return { failed: code, refused: NONE_REFUSED };
    }
  };
}

/**
 * @param accepting `acceptedAtMs`: start of the retry window, ms since 1970; `configPosition`: of
 *   this process
 */
export function* messageRecords(
  sourceId: string,
  accepted: readonly AcceptedCall[],
  { acceptedAtMs, configPosition }: { acceptedAtMs: number; configPosition: number },
): Steps<OutRecord[]> {
  const records: OutRecord[] = [];
  for (const { message, value, body, warnings } of accepted) {
    const headers = messageHeaders(sourceId, message, {
      acceptedAtMs,
      configPosition,
      traceparent: newTraceparent(),
      body,
      warnings,
    });
    records.push({ topic: MESSAGES, key: messageKey(sourceId, message), value, headers });
    yield;
  }
  return records;
}
