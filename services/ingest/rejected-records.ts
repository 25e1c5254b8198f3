import { stringifyJson } from '../../shared/json/json';
import { type OutRecord } from '../../shared/kafka/port';
import { REJECTED } from '../../shared/kafka/topics';
import {
  type CallType,
  isJsonObject,
  type Json,
  type JsonObject,
} from '../../shared/model/message';
import { FORMAT_HEADER } from '../../shared/model/record-format';
import {
  type CallFault,
  type RejectedCall,
  type RejectedRecord,
} from '../../shared/model/rejected-calls';
import { type Excerpt, excerptOfText, withoutKey } from './calls/excerpt';
import { type FoundFault, type ParsedRequest } from './calls/parse-batch';
import { type Steps } from './calls/steps';

/**
 * Makes the records of `messages.rejected`. What a request lost beyond the limit of its source is
 * counted by code: one record stands for all its calls of a code, without their content.
 */

/** Calls that were lost for the same reason. */
export interface CountedFault {
  code: string;
  message: string;
  count: number;
}

/** Counts lost calls by their codes, each with the message of the first. */
export function countByCode(
  faults: readonly { code: string; message: string; count?: number }[],
): CountedFault[] {
  const byCode = new Map<string, CountedFault>();
  for (const { code, message, count = 1 } of faults) {
    const counted = byCode.get(code);
    if (counted) counted.count += count;
    else byCode.set(code, { code, message, count });
  }
  return [...byCode.values()];
}

/** Where and when calls were rejected. */
interface Arrived {
  /** the source's id */
  source: string;
  /** time of arrival, ms since 1970 */
  atMs: number;
}

/**
 * @param faults what was rejected or lost, in order
 * @param from `oneByOne`: how many of them may be stored by themselves; `key`: the write key of the
 *   request
 */
export function* rejectedRecords(
  faults: readonly (RejectedCall | FoundFault)[],
  parsed: Pick<ParsedRequest, 'calls' | 'faults' | 'type'>,
  from: Arrived & { oneByOne: number; key: string | undefined },
): Steps<OutRecord[]> {
  const records: OutRecord[] = [];
  for (const fault of faults.slice(0, from.oneByOne)) {
    records.push(outRecord(from, { ...fault, ...contentOf(fault, parsed, from.key) }));
    yield;
  }
  for (const counted of countByCode(faults.slice(from.oneByOne))) {
    records.push(outRecord(from, { ...counted, call: null }));
  }
  return records;
}

/** The fault of a call whose message Kafka refuses for good. */
export const KAFKA_REFUSED: CallFault = {
  code: 'kafka_refused',
  message:
    'Kafka refuses the record of the call for good, most often because it is larger than ' +
    '`max.message.bytes` of the topic `messages`.',
};

/** @param message the record that Kafka refuses */
export function faultOfRefused(message: OutRecord | undefined): FoundFault {
  return { ...KAFKA_REFUSED, excerpt: () => excerptOfText(String(message?.value ?? '')) };
}

type Content = Pick<RejectedRecord, 'call' | 'truncated'>;

function contentOf(
  fault: RejectedCall | FoundFault,
  { calls, faults, type }: Pick<ParsedRequest, 'calls' | 'faults' | 'type'>,
  key: string | undefined,
): Content {
  const found = 'index' in fault ? faults.get(fault.index) : fault;
  if (found?.excerpt) return contentOfExcerpt(withoutKey(found.excerpt(), key));
  const call = 'index' in fault ? (calls[fault.index] ?? null) : '';
  return contentOfCall(call, { type, isLarge: fault.code === 'call_too_large' });
}

interface KindOfCall {
  /** the type from the path, which wins over the call's own; undefined: the path names none */
  type: CallType | undefined;
  /** only its beginning is kept */
  isLarge: boolean;
}

/** Returns a call as the debugger shows it. */
export function contentOfCall(call: Json, { type, isLarge }: KindOfCall): Content {
  const shown = isJsonObject(call) ? shownCall(call, type) : call;
  if (!isLarge) return { call: shown };
  return { call: excerptOfText(stringifyJson(shown)).text, truncated: true };
}

function contentOfExcerpt({ text, truncated }: Excerpt): Content {
  return truncated ? { call: text, truncated } : { call: text };
}

/** The debugger shows no write key, and not what is meant for the client's vendor. */
function shownCall(call: JsonObject, type: CallType | undefined): Json {
  // Of a large call only the beginning is kept, with its type.
  const shown: JsonObject = type === undefined ? { ...call } : { type, ...call };
  if (type !== undefined) shown.type = type;
  delete shown.writeKey;
  delete shown._metadata;
  return shown;
}

/** A body of which no call could be read. */
export interface LostBody {
  /** by which the debugger and the metrics name it */
  code: string;
  message: string;
  /** calls that are lost, as far as that is known; else 1 */
  calls: number;
  /** Returns its beginning, without its write key. */
  excerpt: () => Excerpt;
}

/** @param from `isCountedOnly`: its source is over the limit */
export function refusedRecord(
  { code, message, calls, excerpt }: LostBody,
  from: Arrived & { isCountedOnly: boolean },
): OutRecord {
  if (from.isCountedOnly) {
    return outRecord(from, {
      code,
      message,
      count: calls,
      call: null,
    });
  }
  return outRecord(from, {
    code,
    message,
    count: calls > 1 ? calls : undefined,
    ...contentOfExcerpt(excerpt()),
  });
}

function outRecord(
  { source, atMs }: Arrived,
  lost: Content & { code: string; message: string; count?: number | undefined },
): OutRecord {
  const { code, message, call, truncated, count } = lost;
  const record: RejectedRecord = { at: new Date(atMs).toISOString(), source, code, message, call };
  if (truncated) record.truncated = truncated;
  const headers: Record<string, string> = { format: FORMAT_HEADER, source };
  if (count !== undefined) headers.count = String(count);
  return {
    topic: REJECTED,
    key: source,
    value: stringifyJson(record),
    headers,
  };
}

/** Returns how many rejected calls the records stand for. */
export function callsOf(records: readonly OutRecord[]): number {
  return records.reduce((sum, { headers }) => sum + Number(headers?.count ?? 1), 0);
}
