import { type ParsedRequest, type AcceptedCall, rejectedRecord } from './calls/validate-request';
import { MESSAGE_FORMAT, messageHeaders, messageKey } from '../../shared/model/message';
import { type RejectedCall } from '../../shared/model/rejected-calls';
import { type OutRecord } from '../../shared/kafka/port';
import { MESSAGES, REJECTED } from '../../shared/kafka/topics';
import { newTraceparent } from '../../shared/telemetry/trace';

/** Makes the records of validated calls. */

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
