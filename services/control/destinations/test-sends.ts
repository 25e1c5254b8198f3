import { randomUUID } from 'node:crypto';
import { type DeliveryEvent } from '../../../shared/model/attempt-events';
import { type Destination } from '../../../shared/model/config';
import { AppError } from '../../../shared/service/errors';
import { Problem } from '../http/problem';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { recordedRoot } from '../../../shared/telemetry/spans';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';
import { addEvent, isComplete, sampleMessage, type TestSendProgress, testRecord } from './test-send';

/** Sends test records through the real pipeline and waits for what `attempts` tells of them. */

/** Beside the timeout of the request itself: the way through Kafka, and a delivery service that is busy or restarts. */
const SLACK_MS = 10_000;
/** From the first event on: the other URLs' answers, where the first 2xx settled the delivery before them. */
const LATE_MS = 1_000;
/** Each holds a request open; more at once is no test. */
const MAX_WAITING = 100;

export interface TestSends {
  /**
   * @param value what is POSTed in place of the sample that `body` asks for
   * @throws Problem `invalid_fields`; `no_answer` where no event came in time
   * @throws AppError `kafka_unavailable`, `overloaded`
   */
  send(destination: Destination, body: unknown, value?: string): Promise<TestSendProgress & { delivery: string }>;
  stop(): Promise<void>;
}

export interface TestSendsOptions {
  kafka: Pick<Kafka, 'ranges' | 'read'>;
  producer: BatchProducer;
  /** WAYPOST_TIMEOUT */
  timeoutMs: number;
  now: () => Date;
  log: Log;
}

export function openTestSends({ kafka, producer, timeoutMs, now, log }: TestSendsOptions): TestSends {
  const lifetimeMs = timeoutMs + SLACK_MS;
  const attempts = new RecordWaiter(ATTEMPTS, kafka, log);
  const send = async (destination: Destination, body: unknown, value?: string) => {
    if (attempts.size >= MAX_WAITING)
      throw new AppError('overloaded', 'Too many tests are waiting for a response', true);
    const message = sampleMessage(body, { messageId: `test-${randomUUID()}`, now: now() });
    // Whoever tests wants to see its trace.
    const made = { now: now(), lifetimeMs, traceparent: recordedRoot() };
    const { id, record } = testRecord(destination, message, made);
    const answer = awaitEvents({ urls: destination.webhooks.length, deadlineMs: lifetimeMs });
    try {
      // Its key in `attempts` is the delivery's id.
      await attempts.begin(id, (value) => {
        const event = eventIn(value);
        if (event) answer.hear(event);
        else log.error({ delivery: id }, 'attempt.unreadable');
      });
      await producer.send([value === undefined ? record : { ...record, value }]);
      log.info({ delivery: id, destination: destination.id }, 'test.sent');
      const progress = await answer.progress;
      if (progress) return { delivery: id, ...progress };
    } finally {
      answer.cancel();
      attempts.end(id);
    }
    const detail = `The test was sent, but no result arrived within ${lifetimeMs / 1_000} s. Is the delivery service running?`;
    throw new Problem('no_answer', detail, { more: { delivery: id } });
  };
  return { send, stop: () => attempts.stop() };
}

function eventIn(value: Buffer): DeliveryEvent | undefined {
  try {
    return JSON.parse(value.toString()) as DeliveryEvent;
  } catch {
    return undefined;
  }
}

/** Adds up events until they are complete, or a moment after the first; undefined where none comes in time. */
function awaitEvents({ urls, deadlineMs }: { urls: number; deadlineMs: number }) {
  let progress: TestSendProgress | undefined;
  let settle: () => void = () => undefined;
  const settled = new Promise<TestSendProgress | undefined>((resolve) => {
    settle = () => resolve(progress);
  });
  let timer = setTimeout(settle, deadlineMs);
  const hear = (event: DeliveryEvent) => {
    if (!progress) {
      clearTimeout(timer);
      timer = setTimeout(settle, LATE_MS);
    }
    progress = addEvent(progress, event);
    if (isComplete(progress, urls)) settle();
  };
  return { hear, progress: settled, cancel: () => clearTimeout(timer) };
}
