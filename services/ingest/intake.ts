import { accept, parseBody } from '../../shared/domain/accept';
import { isFault } from '../../shared/domain/envelope';
import { type CallType } from '../../shared/domain/message';
import { AppError, messageOf } from '../../shared/errors';
import { type Appender, type OutRecord } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { type Answer, badRequest, refusal, type RefusalCode, success } from './answer';
import { type FindSource, writeKeyOf } from './auth';
import { appendWithin, messageRecords, rejectedRecords } from './produce';
import { oncePer } from './quiet';
import { type RequestStart, watchStored } from './watch';

/**
 * A body → the answer to it. Success is said only after Kafka acknowledged every record that came of the request: its
 * messages and its rejected calls, in one append.
 */

export interface IntakeParts {
  findSource: FindSource;
  appender: Appender;
  log: Log;
  /** ms since 1970 */
  now: () => number;
  /** for calls without a `messageId` */
  makeId: () => string;
  /** from the end of the body to the answer; the promise outside is 5 s */
  answerDeadlineMs: number;
}

interface Received {
  body: Buffer;
  kind: CallType | 'batch';
  authorization: string | undefined;
  /** for the trace */
  from?: RequestStart;
}

/** Never throws for what a client sends or for Kafka's absence. */
export type Intake = (received: Received) => Promise<Answer>;

export function createIntake(parts: IntakeParts): Intake {
  const store = createStore(parts);
  return async ({ body, kind, authorization, from }) => {
    const receivedAtMs = parts.now();
    const parsed = parseBody(body, kind);
    if (isFault(parsed)) return badRequest(parsed);
    const source = await parts.findSource(writeKeyOf(authorization, parsed.writeKey));
    if (typeof source === 'string') return refusal(source);
    const verdicts = accept(parsed, receivedAtMs, parts.makeId);
    if (isFault(verdicts)) return badRequest(verdicts);

    const { accepted, rejected } = verdicts;
    const records = messageRecords(source.id, accepted, receivedAtMs);
    if (rejected.length > 0) records.push(...rejectedRecords(source.id, rejected, parsed, receivedAtMs));
    const storingAt = performance.now();
    const failed = records.length > 0 ? await store(records, receivedAtMs) : undefined;
    watchStored({ records, rejected, failed, storingAt, from });
    return failed ? refusal(failed) : success(rejected);
  };
}

/** @returns a function that resolves to why the records are not known to be stored, or to undefined where they are */
function createStore(parts: IntakeParts) {
  const mayLog = oncePer(1_000, 16, parts.now);
  return async (records: OutRecord[], receivedAtMs: number): Promise<RefusalCode | undefined> => {
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
