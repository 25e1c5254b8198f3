import { type ParsedRequest, type AcceptedCall, rejectedRecord } from './calls/validate-request';
import { MESSAGE_FORMAT, messageHeaders, messageKey } from '../../shared/model/message';
import { type RejectedCall } from '../../shared/model/rejected-calls';
import { AppError } from '../../shared/service/errors';
import { type BatchProducer, type OutRecord } from '../../shared/kafka/port';
import { MESSAGES, REJECTED } from '../../shared/kafka/topics';
import { newTraceparent } from '../../shared/telemetry/trace';

/** Makes records of validated calls, and waits for Kafka's acknowledgement. */

/** @param acceptedAtMs start of the retry window, ms since 1970 */
export function messageRecords(sourceId: string, accepted: readonly AcceptedCall[], acceptedAtMs: number): OutRecord[] {
  return accepted.map(({ message, value }) => {
    const headers = messageHeaders(sourceId, message.messageId, { acceptedAtMs, traceparent: newTraceparent() });
    return { topic: MESSAGES, key: messageKey(sourceId, message), value, headers };
  });
}

/** @param atMs time of arrival, ms since 1970 */
export function rejectedRecords(
  sourceId: string,
  rejected: readonly RejectedCall[],
  parsed: ParsedRequest,
  atMs: number,
): OutRecord[] {
  const at = new Date(atMs).toISOString();
  return rejected.map((fault) => ({
    topic: REJECTED,
    key: sourceId,
    value: JSON.stringify(rejectedRecord(fault, parsed.calls[fault.index] ?? null, sourceId, at)),
    headers: { format: String(MESSAGE_FORMAT), source: sourceId },
  }));
}

/**
 * Sends all records, and waits at most `waitMs`. Kafka may still store them later; the client sends them again with the same
 * `messageId`, by which the router drops the second copy.
 * @throws AppError `kafka_unavailable` after `waitMs`; the error of `send`
 */
export function sendWithin(producer: BatchProducer, records: OutRecord[], waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new AppError('kafka_unavailable', `Kafka did not acknowledge within ${waitMs} ms`, true)),
      Math.max(0, waitMs),
    );
    producer
      .send(records)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
