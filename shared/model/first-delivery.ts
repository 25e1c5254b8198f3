import { DEFAULT_SHARDS, type Destination } from './config';
import { type Delivery, deliveryId, deliveryKey } from './delivery';
import { eventNameOf, type Message } from './message';
import { type MessageHeaders } from './message-codec';

/** Makes the delivery of a message for a destination. Pure. */

/** Creates a delivery before its first attempt, and the key of its record. */
export function firstDelivery(from: {
  head: MessageHeaders;
  message: Pick<Message, 'type' | 'event' | 'name' | 'userId' | 'anonymousId'>;
  destination: Destination;
  /** version of the destination in `config` */
  version?: number;
  /** ms since 1970 */
  expiresAt: number;
}): { delivery: Delivery; key: string } {
  const { head, message, destination, version, expiresAt } = from;
  const delivery: Delivery = {
    id: deliveryId(head.sourceId, head.messageId, destination.id),
    messageId: head.messageId,
    sourceId: head.sourceId,
    destinationId: destination.id,
    type: message.type,
    acceptedAt: head.acceptedAt,
    expiresAt,
    attempt: 0,
    hop: 0,
    replay: 0,
    excludedUrls: [],
    traceparent: head.traceparent,
  };
  const event = eventNameOf(message);
  if (event !== undefined) delivery.event = event;
  if (version !== undefined) delivery.destinationVersion = version;
  if (message.userId !== undefined) delivery.userId = message.userId;
  else if (message.anonymousId !== undefined) delivery.anonymousId = message.anonymousId;
  const user = message.userId ?? message.anonymousId ?? head.messageId;
  return { delivery, key: deliveryKey(destination.id, user, destination.shards ?? DEFAULT_SHARDS) };
}

/**
 * Ingest responds within 5 s, and appends the record by then or a little later. With a longer delay
 * its clock is wrong.
 */
const LARGEST_DELAY_MS = 10_000;

/**
 * Returns when the window of a message begins, ms since 1970: when it was accepted, or when it was
 * appended if ingest's clock must be wrong. Otherwise a clock that is hours behind would leave its
 * deliveries a single try.
 */
export function windowStart({ acceptedAt, appendedAt = acceptedAt }: MessageHeaders): number {
  return Math.abs(appendedAt - acceptedAt) <= LARGEST_DELAY_MS ? acceptedAt : appendedAt;
}
