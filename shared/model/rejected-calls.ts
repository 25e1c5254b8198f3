import { type Json } from './message';
import { FORMAT_HEADER } from './record-format';

/**
 * Reports of calls that ingest does not accept. Rejected calls are reported to the caller, and on
 * `messages.rejected` for the debugger. Requests answered with 429, and rejected calls without a
 * record of their own, are counted on `messages.limited`.
 */

/** Stable codes of faults of a call, for programs. The message beside a code is for people. */
export type CallFaultCode =
  /** the item of `batch` is not a JSON object */
  | 'invalid_call'
  /** `type` is absent or unknown */
  | 'invalid_type'
  /** neither `userId` nor `anonymousId` */
  | 'no_user_anon_id'
  /** track without `event` */
  | 'missing_event'
  /** group without `groupId` */
  | 'missing_group_id'
  /** alias without `userId` */
  | 'missing_user_id'
  /** alias without `previousId` */
  | 'missing_previous_id'
  /** a field has the wrong type: an id that is an object, `properties` that are a text */
  | 'invalid_field'
  /** `messageId` of 100 characters or more */
  | 'message_id_too_long'
  /** `userId`, `anonymousId`, `previousId` or `groupId` of more than 512 bytes of UTF-8 */
  | 'id_too_long'
  /** more than 32,768 bytes as sent */
  | 'call_too_large'
  /** a part of a broken body that cannot be read as a call */
  | 'unreadable'
  /** bytes that are not UTF-8, or not of the charset that the request names */
  | 'invalid_encoding'
  /** nested more than 100 levels deep, its envelope included */
  | 'too_deep'
  /** with it the request would have more objects, arrays or keys than it may have */
  | 'too_complex'
  /** behind the most calls that a request may have */
  | 'too_many_calls'
  /** with it the messages of the request would be larger than they may be together */
  | 'merged_too_large'
  /** Kafka refuses its record for good: it is larger than the topic takes, as a rule */
  | 'kafka_refused'
  /** `context` or `integrations` of its envelope is not an object */
  | 'invalid_envelope'
  /** `context` and `integrations` of its envelope are too large */
  | 'envelope_too_large'
  /** its envelope, in a broken body, names a write key of another source */
  | 'other_write_key';

export interface CallFault {
  code: CallFaultCode;
  message: string;
}

/** As in the response: `index` counts the calls of the request from 0. */
export interface RejectedCall extends CallFault {
  index: number;
  /** present if it stands for all calls from `index` on */
  count?: number;
}

/**
 * The value of a record on `messages.rejected`. Its key is the source's id. Its header `count` is
 * present if it stands for several calls, or for calls whose content is not stored.
 */
export interface RejectedRecord {
  /** ISO 8601 UTC with milliseconds */
  at: string;
  /** the source's id */
  source: string;
  code: string;
  message: string;
  /**
   * The call as sent, with the type that its path names, without `writeKey` and `_metadata`; if it
   * is too large or could not be read, the beginning of its text, in which `\xE9` stands for a byte
   * that is not UTF-8. `null` if it is not stored.
   */
  call: Json;
  /** present if `call` is only a part */
  truncated?: true;
}

/** The value of a record on `messages.limited`: what a process has counted since its last one. */
export interface LimitedRecord {
  /** requests answered with 429, by the id of their source */
  sources: Record<string, number>;
  /** rejected calls, beyond one for each record on `messages.rejected` */
  rejected: number;
}

/** The same in memory. */
interface LimitedInMemory {
  sources: ReadonlyMap<string, number>;
  rejected: number;
}

export function limitedRecord({ sources, rejected }: LimitedInMemory) {
  const value: LimitedRecord = {
    sources: Object.fromEntries(sources),
    rejected,
  };
  return { value: JSON.stringify(value), headers: { format: FORMAT_HEADER } };
}

/** @returns undefined if the value is unreadable */
export function limitedCounts(value: string): LimitedInMemory | undefined {
  try {
    const { sources, rejected } = JSON.parse(value) as LimitedRecord;
    const counts = new Map(Object.entries(sources));
    const areNumbers = [...counts.values(), rejected].every(Number.isSafeInteger);
    return areNumbers ? { sources: counts, rejected } : undefined;
  } catch {
    return undefined;
  }
}
