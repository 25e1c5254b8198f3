import { testBody } from '../../../shared/api/destinations';
import { type OutRecord } from '../../../shared/kafka/port';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { type DeliveryEvent, type AttemptEvent } from '../../../shared/model/attempt-events';
import { DEFAULT_SHARDS, type Destination } from '../../../shared/model/config';
import { type Delivery, deliveryId, deliveryKey, encodeDelivery } from '../../../shared/model/delivery';
import { type CallType, type JsonObject, type Message } from '../../../shared/model/message';
import { renderBody } from '../../../shared/model/webhook-body';
import { parseBody } from '../http/validate';

/** The sample message of a test, its record, and the result of its events. Pure: ids and the time are arguments. */

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
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<Message>;
  const context: JsonObject = { library: { name: 'waypost-test', version: '1' } };
  return { ...SAMPLES[type], ...set, type, messageId: made.messageId, timestamp: at, receivedAt: at, context };
}

/** Returns the record for delivery. Its test flag means one attempt, even if the destination is off. */
export function testRecord(
  destination: Destination,
  message: Message,
  made: { now: Date; lifetimeMs: number; traceparent: string },
): { id: string; record: OutRecord } {
  const acceptedAt = made.now.getTime();
  const user = message.userId ?? message.messageId;
  const delivery: Delivery = {
    id: deliveryId(TEST_SOURCE, message.messageId, destination.id),
    messageId: message.messageId,
    sourceId: TEST_SOURCE,
    destinationId: destination.id,
    type: message.type,
    userId: user,
    acceptedAt,
    expiresAt: acceptedAt + made.lifetimeMs,
    ...{ attempt: 0, hop: 0, replay: 0, closed: [], test: true },
    traceparent: made.traceparent,
  };
  const key = deliveryKey(destination.id, user, destination.shards ?? DEFAULT_SHARDS);
  const record = { topic: WEBHOOKS, key, value: renderBody(message), headers: encodeDelivery(delivery) };
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
 * Merges an event into the progress. Requests that were still open come in a second, late event of the same attempt.
 */
export function addEvent(progress: TestSendProgress | undefined, event: DeliveryEvent): TestSendProgress {
  const attempt = progress?.attempt ?? null;
  switch (event.kind) {
    case 'attempt': {
      const { n, at, durationMs, outcome, urls, reason } = event;
      const merged = attempt
        ? { ...attempt, durationMs: Math.max(attempt.durationMs, durationMs), urls: [...attempt.urls, ...urls] }
        : { n, at, durationMs, outcome, urls };
      const delivered = merged.urls.some((url) => url.outcome === 'delivered');
      if (delivered) merged.outcome = 'delivered';
      // A test is tried once, so an undelivered one is dead.
      return { status: delivered ? 'delivered' : 'dead', reason: reason ?? progress?.reason ?? null, attempt: merged };
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
