import { aboutDelivery, type DeadEvent } from '../model/attempt-events';
import { attemptsMade, type Delivery, encodeDelivery } from '../model/delivery';
import { TOO_LARGE } from '../model/reasons';
import { attemptsRecord, DEAD } from '../kafka/topics';
import { type OutRecord } from '../kafka/port';

/**
 * Returns the records that end a delivery whose next record Kafka refuses for good, most often
 * because `max.message.bytes` of its topic was lowered. Its dead letter has no body, which might be
 * refused too.
 * @param from the record that holds the delivery; its key becomes the key of the dead letter
 * @param nowMs ms since 1970
 */
export function tooLargeRecords(
  delivery: Delivery,
  from: { topic: string; partition: number; offset: number; key: string | null },
  nowMs: number,
): OutRecord[] {
  const { topic, partition, offset, key } = from;
  const { notBefore, final, recalled, error, ...rest } = delivery;
  const event: DeadEvent = {
    kind: 'dead',
    ...aboutDelivery(delivery, { topic, partition, offset }, nowMs),
    n: attemptsMade(delivery),
    reason: TOO_LARGE,
  };
  return [
    attemptsRecord(delivery.id, event),
    { topic: DEAD, key, value: '', headers: encodeDelivery({ ...rest, reason: TOO_LARGE }) },
  ];
}
