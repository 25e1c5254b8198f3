import { aboutDelivery, type DeadEvent } from '../model/attempt-events';
import { type Delivery, encodeDelivery } from '../model/delivery';
import { RENDER_FAILED } from '../model/reasons';
import { attemptsRecord, DEAD, MESSAGES } from '../kafka/topics';
import { type OutRecord } from '../kafka/port';
import { failureText, type RenderFailure } from './render-request';

/**
 * The dead letter of a delivery whose request cannot be rendered. There is no body, so its value
 * names the record of the message, from which a replay renders again.
 */

/** The record of a message. */
export interface MessagePlace {
  partition: number;
  offset: number;
}

/** A delivery that has no body. */
export interface Unrendered {
  delivery: Delivery;
  key: string | null;
  failure: RenderFailure;
}

/** Returns the dead letter and the event of a delivery that cannot be rendered. */
export function renderFailedRecords(
  { delivery, key, failure }: Unrendered,
  { partition, offset }: MessagePlace,
  nowMs: number,
): OutRecord[] {
  const error = failureText(failure);
  const record = { topic: MESSAGES, partition, offset };
  const event: DeadEvent = {
    kind: 'dead',
    ...aboutDelivery(delivery, record, nowMs),
    n: 0,
    reason: RENDER_FAILED,
    error,
  };
  const value = JSON.stringify({ record, ...failure, kind: undefined });
  return [
    attemptsRecord(delivery.id, event),
    {
      topic: DEAD,
      key,
      value,
      headers: encodeDelivery({ ...delivery, reason: RENDER_FAILED, error }),
    },
  ];
}

/** Reads the value of such a dead letter. @returns undefined for any other value */
export function placeOfMessage(value: Buffer | string): MessagePlace | undefined {
  try {
    const { record } = JSON.parse(value.toString()) as { record?: Partial<MessagePlace> };
    const { partition, offset } = record ?? {};
    return Number.isSafeInteger(partition) && Number.isSafeInteger(offset)
      ? { partition: partition as number, offset: offset as number }
      : undefined;
  } catch {
    return undefined;
  }
}
