import { withDeadline } from '../../shared/runtime/async';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { type BatchProducer, type OutRecord } from '../../shared/kafka/port';
import { metrics } from '../../shared/telemetry/metrics';
import { type Log } from '../../shared/telemetry/log';
import { type RefusalCode } from './responses';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type AcceptedCall } from './calls/validate-request';
import { type Steps } from './calls/steps';
import { messageHeaders, messageKey } from '../../shared/model/message';
import { MESSAGES } from '../../shared/kafka/topics';
import { newTraceparent } from '../../shared/telemetry/trace';
import { type LimitedCounts } from './rate-limits';

/** Makes the records of valid calls, and stores them with those of rejected calls. */

/** Resolves to undefined once the records are stored, or to the reason why that is not certain. */
export type Store = (toStore: ToStore) => Promise<RefusalCode | undefined>;

interface ToStore {
  messages: OutRecord[];
  /**
   * of rejected calls, and how many they stand for; dropped if Kafka refuses them, so that the valid
   * calls need not wait for an ACL
   */
  rejected: { records: OutRecord[]; calls: number };
  /** by `performance.now()` */
  receivedSteadyMs: number;
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
  counts: Pick<LimitedCounts, 'addRejected'>;
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
    withDeadline(waitMs, producer.send(records));
  const storeRejected = async ({ records, calls }: ToStore['rejected'], waitMs: number) => {
    try {
      await sendWithin(records, waitMs);
      counts.addRejected(calls - records.length);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'kafka_refused') throw error;
      dropped.value += calls;
      if (mayLog('rejected')) log.warn({ calls, reason: error.message }, 'rejected.not_stored');
    }
  };
  return async ({ messages, rejected, receivedSteadyMs }) => {
    // The check of an unknown key has used up part of the time.
    const waitMs = parts.responseDeadlineMs - (performance.now() - receivedSteadyMs);
    try {
      const writing = messages.length > 0 ? sendWithin(messages, waitMs) : undefined;
      await (rejected.records.length > 0
        ? Promise.all([writing, storeRejected(rejected, waitMs)])
        : writing);
      return undefined;
    } catch (error) {
      const code =
        error instanceof AppError && error.code === 'overloaded'
          ? 'overloaded'
          : 'kafka_unavailable';
      const records = messages.length + rejected.records.length;
      if (mayLog(code)) log.warn({ code, records, reason: messageOf(error) }, 'calls.not_stored');
      return code;
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
