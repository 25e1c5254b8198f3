import { randomUUID } from 'node:crypto';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { ATTEMPTS } from '../../../shared/kafka/topics';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';
import { type DeliveryEvent } from '../../../shared/model/attempt-events';
import { type Destination } from '../../../shared/model/config';
import { AppError } from '../../../shared/service/errors';
import { type Log } from '../../../shared/telemetry/log';
import { recordedRoot } from '../../../shared/telemetry/trace';
import { Problem } from '../http/problem';
import { addEvent, isComplete, sampleMessage, type TestSendProgress, testRecord } from './test-send';

/** Sends test records through the pipeline, and waits for their events in `attempts`. */

/** Added to the timeout of the request: for Kafka, and for a delivery service that is busy or restarts. */
const SLACK_MS = 10_000;
/** After the first event: waits for the responses of other URLs if the first 2xx settled the delivery before them. */
const LATE_MS = 1_000;
/** Each holds a request open. People need no more concurrent tests. */
const MAX_WAITING = 100;

export interface TestSends {
  /**
   * @param value the body to POST instead of the sample that `body` selects
   * @throws Problem `invalid_fields`; `no_answer` if no event came in time
   * @throws AppError `kafka_unavailable`, `overloaded`
   */
  send(destination: Destination, body: unknown, value?: string): Promise<TestSendProgress & { delivery: string }>;
  stop(): Promise<void>;
}

export interface TestSendsOptions {
  kafka: Pick<Kafka, 'tail'>;
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
    // Always sampled, so that the user of the test finds its trace.
    const made = { now: now(), lifetimeMs, traceparent: recordedRoot() };
    const { id, record } = testRecord(destination, message, made);
    const answer = awaitEvents({ urls: destination.webhooks.length, deadlineMs: lifetimeMs });
    try {
      // The key of an event in `attempts` is the id of the delivery.
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

/**
 * Merges events until they are complete, or until `LATE_MS` after the first. Returns undefined if none comes in time.
 */
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
