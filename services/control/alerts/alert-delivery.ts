import { ALERTS_ID, DEFAULT_SHARDS, type Destination } from '../../../shared/model/config';
import { type Delivery, deliveryId, deliveryKey, encodeDelivery } from '../../../shared/model/delivery';
import { type OutRecord } from '../../../shared/kafka/port';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { type Notice } from './notice';

/**
 * An alert as it goes out: a delivery like any other, to Waypost's own destination. Pure: the time is given.
 *
 * Its id follows from the notice, so that a control that was killed after it wrote it and before it wrote that down
 * writes the same once more, which delivery drops, and a receiver knows again.
 */

/** In the place of a source, which an alert has none of. */
const ALERTS_SOURCE = 'waypost';

/** Someone is there to be told. */
export function isAddressed(destination: Destination | undefined): destination is Destination {
  return destination !== undefined && destination.enabled && destination.webhooks.length > 0;
}

/** The delivery that tells of a notice. */
export function alertDelivery(noticeId: string): string {
  return deliveryId(ALERTS_SOURCE, noticeId, ALERTS_ID);
}

export function alertRecord(
  notice: Notice,
  to: Destination,
  made: { nowMs: number; windowMs: number; traceparent: string },
): OutRecord {
  const { nowMs, windowMs, traceparent } = made;
  const delivery: Delivery = {
    id: alertDelivery(notice.id),
    messageId: notice.id,
    sourceId: ALERTS_SOURCE,
    destinationId: to.id,
    // Of the types that every delivery process knows, also one that is still of an earlier version.
    type: 'track',
    // Also the same whenever it is written: the history finds a delivery by it.
    acceptedAt: notice.at,
    expiresAt: nowMs + windowMs,
    ...{ attempt: 0, hop: 0, replay: 0, closed: [] },
    traceparent,
  };
  const key = deliveryKey(to.id, notice.destination, to.shards ?? DEFAULT_SHARDS);
  return { topic: WEBHOOKS, key, value: JSON.stringify(alertBody(notice)), headers: encodeDelivery(delivery) };
}

/** What a test sends: an alert as any other, of a destination that there is not. */
export function sampleAlert(nowMs: number): string {
  const sample: Notice = {
    ...{ id: 'ntc_test', at: nowMs, destination: 'dst_test', name: 'A test', kind: 'failing' },
    ...{ since: nowMs, endedAt: null, failures: 1, deadLetters: 0, error: 'this is a test' },
    ...{ alert: 'none', acknowledged: null },
  };
  return JSON.stringify(alertBody(sample));
}

/** In the form that Standard Webhooks proposes: `type`, `timestamp`, `data`. */
function alertBody({ id, at, kind, destination, name, since, endedAt, ...notice }: Notice) {
  const { failures, deadLetters, error } = notice;
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    type: `destination.${kind}`,
    timestamp: iso(at),
    data: {
      notice: id,
      ...{ destination, name },
      since: iso(since),
      ...(kind === 'recovered' && endedAt !== null && { recoveredAt: iso(endedAt) }),
      ...(failures > 0 && { failures }),
      ...(deadLetters > 0 && { deadLetters }),
      ...(error !== null && { error }),
    },
  };
}
