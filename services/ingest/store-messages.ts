import { stringifyJson } from '../../shared/json/json';
import { withDeadline } from '../../shared/runtime/async';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { type BatchProducer, type OutRecord } from '../../shared/kafka/port';
import { metrics } from '../../shared/telemetry/metrics';
import { type Log } from '../../shared/telemetry/log';
import { type RefusalCode } from './responses';
import { logThrottle } from '../../shared/runtime/load-limits';
import { type AcceptedCall, excerptRecord, rejectedRecord } from './calls/validate-request';
import { type Excerpt, withoutKey } from './calls/excerpt';
import { type ParsedRequest } from './calls/parse-batch';
import { type Steps } from './calls/steps';
import { messageHeaders, messageKey } from '../../shared/model/message';
import { FORMAT_HEADER } from '../../shared/model/record-format';
import { type RejectedCall, type RejectedRecord } from '../../shared/model/rejected-calls';
import { MESSAGES, REJECTED } from '../../shared/kafka/topics';
import { newTraceparent } from '../../shared/telemetry/trace';

/** Makes the records of validated calls, and stores them. */

/** Resolves to undefined once the records are stored, or to the reason why that is not certain. */
export type Store = (toStore: ToStore) => Promise<RefusalCode | undefined>;

interface ToStore {
  messages: OutRecord[];
  /**
   * rejected calls; dropped if Kafka refuses them, so that the valid calls need not wait for an ACL
   */
  rejected: OutRecord[];
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
  log: Log;
  /** from the end of the body to the response; clients are promised 5 s */
  responseDeadlineMs: number;
}

export function createStore(parts: StoreParts): Store {
  const mayLog = logThrottle(1_000, 16);
  const { producer, log } = parts;
  // Kafka may still store the records after `waitMs`. The client sends them again with the same
  // `messageId`, by which the router drops the second copy.
  const sendWithin = (records: OutRecord[], waitMs: number) =>
    withDeadline(waitMs, producer.send(records));
  const storeRejected = async (records: OutRecord[], waitMs: number) => {
    try {
      await sendWithin(records, waitMs);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'kafka_refused') throw error;
      dropped.value += records.length;
      if (mayLog('rejected')) {
        log.warn({ records: records.length, reason: error.message }, 'rejected.not_stored');
      }
    }
  };
  return async ({ messages, rejected, receivedSteadyMs }) => {
    // The check of an unknown key has used up part of the time.
    const waitMs = parts.responseDeadlineMs - (performance.now() - receivedSteadyMs);
    try {
      const writing = messages.length > 0 ? sendWithin(messages, waitMs) : undefined;
      await (rejected.length > 0
        ? Promise.all([writing, storeRejected(rejected, waitMs)])
        : writing);
      return undefined;
    } catch (error) {
      const code =
        error instanceof AppError && error.code === 'overloaded'
          ? 'overloaded'
          : 'kafka_unavailable';
      const records = messages.length + rejected.length;
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

/** @param from `atMs`: time of arrival, ms since 1970; `key`: the write key of the request */
export function* rejectedRecords(
  sourceId: string,
  rejected: readonly RejectedCall[],
  parsed: ParsedRequest,
  { atMs, key }: { atMs: number; key: string | undefined },
): Steps<OutRecord[]> {
  const at = new Date(atMs).toISOString();
  const records: OutRecord[] = [];
  for (const fault of rejected) {
    const excerpt = parsed.faults.get(fault.index)?.excerpt;
    const record = excerpt
      ? excerptRecord(fault, withoutKey(excerpt, key), sourceId, at)
      : rejectedRecord(fault, parsed.calls[fault.index] ?? null, sourceId, at);
    records.push(outRecord(sourceId, record));
    yield;
  }
  for (const fault of parsed.lost) {
    const record = excerptRecord(fault, withoutKey(fault.excerpt ?? NOTHING, key), sourceId, at);
    records.push(outRecord(sourceId, record));
    yield;
  }
  return records;
}

/** A body of which no call could be read. */
export interface LostBody {
  /** by which the debugger and the metrics name it */
  code: string;
  message: string;
  /** calls that are lost, as far as that is known; else 1 */
  calls: number;
  excerpt: Excerpt;
}

/** @param atMs time of arrival, ms since 1970 */
export function refusedRecord(sourceId: string, lost: LostBody, atMs: number): OutRecord {
  const at = new Date(atMs).toISOString();
  return outRecord(sourceId, excerptRecord(lost, lost.excerpt, sourceId, at));
}

const NOTHING: Excerpt = { text: '', truncated: false };

function outRecord(sourceId: string, record: RejectedRecord): OutRecord {
  return {
    topic: REJECTED,
    key: sourceId,
    value: stringifyJson(record),
    headers: { format: FORMAT_HEADER, source: sourceId },
  };
}
