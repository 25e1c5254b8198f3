import { ALERTS_ID, DEFAULT_SHARDS, type Destination } from '../../../shared/model/config';
import { type Delivery, deliveryId, deliveryKey, encodeDelivery } from '../../../shared/model/delivery';
import { type OutRecord } from '../../../shared/kafka/port';
import { WEBHOOKS } from '../../../shared/kafka/topics';
import { type Notice } from './notice';

/**
 * Builds the delivery of an alert, which is like any other, to Waypost's own destination. Pure: the time is an
 * argument.
 *
 * Its id is derived from the notice. If control is killed after it sent the alert and before it stored that, it sends
 * the same id again, which delivery drops or the receiver recognizes.
 */

/** Replaces the source id, since an alert has no source. */
const ALERTS_SOURCE = 'waypost';

/** Returns whether alerts have a destination that is on and has a URL. */
export function isAddressed(destination: Destination | undefined): destination is Destination {
  return destination !== undefined && destination.enabled && destination.webhooks.length > 0;
}

/** Returns the id of the delivery of a notice. */
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
    // A type that every delivery process knows, also one of an earlier version.
    type: 'track',
    // The time of the notice, so that it is the same in each repetition: the history finds a delivery by it.
    acceptedAt: notice.at,
    expiresAt: nowMs + windowMs,
    ...{ attempt: 0, hop: 0, replay: 0, closed: [] },
    traceparent,
  };
  const key = deliveryKey(to.id, notice.destination, to.shards ?? DEFAULT_SHARDS);
  return { topic: WEBHOOKS, key, value: JSON.stringify(alertBody(notice)), headers: encodeDelivery(delivery) };
}

/** Returns the body of a test: an alert of a destination that does not exist. */
export function sampleAlert(nowMs: number): string {
  const sample: Notice = {
    ...{ id: 'ntc_test', at: nowMs, destination: 'dst_test', name: 'A test', kind: 'failing' },
    ...{ since: nowMs, endedAt: null, failures: 1, deadLetters: 0, error: 'this is a test' },
    ...{ alert: 'none', acknowledged: null },
  };
  return JSON.stringify(alertBody(sample));
}

/** Returns the body in the form that Standard Webhooks proposes: `type`, `timestamp`, `data`. */
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
