import { AppError, messageOf } from '../../shared/errors';
import { type Appender, type OutRecord } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { type RefusalCode } from './answer';
import { appendWithin } from './produce';
import { oncePer } from '../../shared/quiet';

/** Resolves to why the records are not known to be stored, or to undefined where they are. */
export type Store = (records: OutRecord[], receivedAtMs: number) => Promise<RefusalCode | undefined>;

export interface StoreParts {
  appender: Appender;
  log: Log;
  /** ms since 1970 */
  now: () => number;
  /** from the end of the body to the answer; the promise outside is 5 s */
  answerDeadlineMs: number;
}

export function createStore(parts: StoreParts): Store {
  const mayLog = oncePer(1_000, 16, parts.now);
  return async (records, receivedAtMs) => {
    try {
      // What the check of an unknown key took is gone from the time for Kafka.
      await appendWithin(parts.appender, records, parts.answerDeadlineMs - (parts.now() - receivedAtMs));
      return undefined;
    } catch (error) {
      const code = error instanceof AppError && error.code === 'overloaded' ? 'overloaded' : 'kafka_unavailable';
      if (mayLog(code)) parts.log.warn({ code, records: records.length, reason: messageOf(error) }, 'calls.not_stored');
      return code;
    }
  };
}
