import { testBody } from '../../../shared/api/destinations';
import { defined } from '../../../shared/collections/defined';
import { type OutRecord, type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { WEBHOOKS, ATTEMPTS } from '../../../shared/kafka/topics';
import { type DeliveryEvent, type AttemptEvent } from '../../../shared/model/attempt-events';
import { DEFAULT_SHARDS, type Destination } from '../../../shared/model/config';
import {
  type Delivery,
  deliveryId,
  deliveryKey,
  encodeDelivery,
} from '../../../shared/model/delivery';
import {
  type CallType,
  eventNameOf,
  type JsonObject,
  type Message,
} from '../../../shared/model/message';
import { renderOnce } from '../../../shared/render/render-request';
import { invalidFields, parseBody } from '../http/validate';
import { fieldError } from './request';
import { randomUUID } from 'node:crypto';
import { RecordWaiter } from '../../../shared/kafka/wait-for-record';
import { AppError } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { recordedRoot } from '../../../shared/telemetry/trace';
import { Problem } from '../http/problem';

/**
 * The sample message of a test, its record, and the result of its events. Pure: ids and the time
 * are arguments.
 */

/** Replaces the source id, since a test has no source. */
const TEST_SOURCE = 'test';

const SAMPLES: Record<CallType, Partial<Message>> = {
  identify: { traits: { email: 'test@example.com', plan: 'trial' } },
  track: { event: 'Test Event', properties: { test: true } },
  page: { name: 'Test Page', properties: { url: 'https://example.com/test' } },
  screen: { name: 'Test Screen', properties: { test: true } },
  group: { groupId: 'test-group', traits: { name: 'Test Group' } },
  alias: { previousId: 'test-previous' },
};

/** @throws Problem `invalid_fields` */
export function sampleMessage(body: unknown, made: { messageId: string; now: Date }): Message {
  const at = made.now.toISOString();
  const { type, ...given } = parseBody(testBody, body);
  const set = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Partial<Message>;
  const context: JsonObject = { library: { name: 'waypost-test', version: '1' } };
  return {
    ...SAMPLES[type],
    ...set,
    type,
    messageId: made.messageId,
    timestamp: at,
    receivedAt: at,
    context,
  };
}

/**
 * Returns the record for delivery. Its test flag means one attempt, even if the destination is off.
 * @throws Problem `invalid_fields` with the field of the destination that cannot be rendered
 */
function testRecord(
  destination: Destination,
  message: Message,
  made: { now: Date; lifetimeMs: number; traceparent: string; excludedUrls: string[] },
): { id: string; record: OutRecord } {
  const acceptedAt = made.now.getTime();
  const user = message.userId ?? message.messageId;
  const event = eventNameOf(message);
  const delivery: Delivery = {
    id: deliveryId(TEST_SOURCE, message.messageId, destination.id),
    messageId: message.messageId,
    sourceId: TEST_SOURCE,
    destinationId: destination.id,
    type: message.type,
    ...defined({ event }),
    userId: user,
    acceptedAt,
    expiresAt: acceptedAt + made.lifetimeMs,
    attempt: 0,
    hop: 0,
    replay: 0,
    excludedUrls: made.excludedUrls,
    test: true,
    traceparent: made.traceparent,
  };
  const key = deliveryKey(destination.id, user, destination.shards ?? DEFAULT_SHARDS);
  const rendered = renderOnce(message, TEST_SOURCE, destination);
  if (rendered.kind === 'failed') throw invalidFields([fieldError(rendered)]);
  const headers = encodeDelivery(Object.assign(delivery, rendered.head));
  const record = { topic: WEBHOOKS, key, value: rendered.body, headers };
  return { id: delivery.id, record };
}

/** An attempt as the API shows it. */
type Attempt = Pick<AttemptEvent, 'n' | 'at' | 'durationMs' | 'outcome' | 'urls'>;

export interface TestSendProgress {
  status: 'delivered' | 'dead' | 'cancelled';
  reason: string | null;
  /** null if none was made */
  attempt: Attempt | null;
}

/**
 * Merges an event into the progress. Requests that were still open come in a second, late event of
 * the same attempt.
 */
export function addEvent(
  progress: TestSendProgress | undefined,
  event: DeliveryEvent,
): TestSendProgress {
  const attempt = progress?.attempt ?? null;
  switch (event.kind) {
    case 'attempt': {
      const { n, at, durationMs, outcome, urls, reason } = event;
      const merged = attempt
        ? {
            ...attempt,
            durationMs: Math.max(attempt.durationMs, durationMs),
            urls: [...attempt.urls, ...urls],
          }
        : { n, at, durationMs, outcome, urls };
      const delivered = merged.urls.some((url) => url.outcome === 'delivered');
      if (delivered) merged.outcome = 'delivered';
      // A test is tried once, so an undelivered one is dead.
      return {
        status: delivered ? 'delivered' : 'dead',
        reason: reason ?? progress?.reason ?? null,
        attempt: merged,
      };
    }
    case 'cancelled':
      return { status: 'cancelled', reason: event.reason, attempt };
    case 'dead':
    case 'waiting':
      return { status: progress?.status ?? 'dead', reason: event.reason, attempt };
  }
}

/** Returns whether every URL has responded, so that no more events follow. */
export function isComplete(progress: TestSendProgress, urls: number): boolean {
  return progress.attempt !== null && progress.attempt.urls.length >= urls;
}

/** Sends test records through the pipeline, and waits for their events in `attempts`. */

/**
 * Added to the timeout of the request: for Kafka, and for a delivery service that is busy or
 * restarts.
 */
const SLACK_MS = 10_000;
/**
 * After the first event: waits for the responses of other URLs if the first 2xx settled the
 * delivery before them.
 */
const LATE_MS = 1_000;
/** Each holds a request open. People need no more concurrent tests. */
const MAX_WAITING = 100;

export type TestSends = ReturnType<typeof openTestSends>;

export interface TestSendsOptions {
  kafka: Pick<Kafka, 'tail'>;
  producer: BatchProducer;
  timeoutMs: number;
  now: () => Date;
  log: Log;
}

export function openTestSends({ kafka, producer, timeoutMs, now, log }: TestSendsOptions) {
  const attempts = new RecordWaiter(ATTEMPTS, kafka, log, SLACK_MS);
  /**
   * @param sent the body to POST instead of the sample that `body` selects, and the endpoints that
   *   get it
   * @throws Problem `invalid_fields`; `no_answer` if no event came in time
   * @throws AppError `kafka_unavailable`, `overloaded`
   */
  const send = async (
    destination: Destination,
    body: unknown,
    sent?: { value: string; excludedUrls: string[]; endpoints: number },
  ): Promise<TestSendProgress & { delivery: string }> => {
    if (attempts.size >= MAX_WAITING) {
      throw new AppError('overloaded', 'Too many tests are waiting for a response', true);
    }
    const lifetimeMs = (destination.retry?.timeoutMs ?? timeoutMs) + SLACK_MS;
    const message = sampleMessage(body, { messageId: `test-${randomUUID()}`, now: now() });
    // Always sampled, so that the user of the test finds its trace.
    const made = {
      now: now(),
      lifetimeMs,
      traceparent: recordedRoot(),
      excludedUrls: sent?.excludedUrls ?? [],
    };
    const { id, record } = testRecord(destination, message, made);
    const answer = awaitEvents({
      urls: sent?.endpoints ?? destination.webhooks.length,
      deadlineMs: lifetimeMs,
    });
    try {
      // The key of an event in `attempts` is the id of the delivery.
      await attempts.begin(id, (value) => {
        const event = eventIn(value);
        if (event) answer.hear(event);
        else log.error({ delivery: id }, 'attempt.unreadable');
      });
      await producer.send([sent ? { ...record, value: sent.value } : record]);
      log.info({ delivery: id, destination: destination.id }, 'test.sent');
      const progress = await answer.progress;
      if (progress) return { delivery: id, ...progress };
    } finally {
      answer.cancel();
      attempts.end(id);
    }
    const detail =
      `The test was sent, but no result arrived within ${lifetimeMs / 1_000} s. Is the ` +
      'delivery service running?';
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
 * Merges events until they are complete, or until `LATE_MS` after the first. Returns undefined if
 * none comes in time.
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
