import {
  type CertificateEvent,
  type CircuitEvent,
  type UrlDisabledEvent,
} from '../../../shared/model/attempt-events';
import { isoTime } from '../../../shared/model/time';
import { type OutRecord } from '../../../shared/kafka/port';
import { attemptsRecord } from '../../../shared/kafka/topics';
import { type Endpoint } from '../destinations/endpoint';
import { attemptEvent, type AttemptResult, type DeliveryInHand, eventRecord } from './disposition';
import { type SeenCertificate } from '../http/certificate-watch';
import { type CircuitTransition } from '../lanes/registry';

/** Events that change no disposition. Pure. */

/**
 * Returns the event for requests that ended after another URL's 2xx settled the delivery. It
 * belongs to the same attempt.
 */
export function lateEvent(inHand: DeliveryInHand, tried: AttemptResult, nowMs: number): OutRecord {
  return eventRecord({
    ...attemptEvent(inHand, { ...tried, outcome: 'delivered' }, nowMs),
    late: true,
  });
}

/**
 * Returns the event for an attempt in a batch that was rejected. The next attempt, in a half of the
 * batch, follows immediately.
 */
export function halvedEvent(
  inHand: DeliveryInHand,
  tried: AttemptResult,
  nowMs: number,
): OutRecord {
  const event = attemptEvent(inHand, { ...tried, outcome: 'retry' }, nowMs);
  return eventRecord({ ...event, reason: 'backoff', nextAttemptAt: isoTime(nowMs) });
}

/** Returns the event for a circuit that opened or closed. */
export function circuitRecord(
  { endpoint, state, why }: CircuitTransition,
  nowMs: number,
): OutRecord {
  const { destinationId: destination, id: url, origin, destinationVersion } = endpoint;
  const at = isoTime(nowMs);
  const event: CircuitEvent = {
    kind: 'circuit',
    destination,
    url,
    origin,
    destinationVersion,
    state,
    why,
    at,
  };
  return attemptsRecord(destination, event);
}

/** Returns the event for a URL that this process has stopped sending to. */
export function urlDisabledRecord(
  endpoint: Endpoint,
  reason: UrlDisabledEvent['reason'],
  nowMs: number,
): OutRecord {
  const { destinationId: destination, id: webhook, enables = 0 } = endpoint;
  const at = isoTime(nowMs);
  const event: UrlDisabledEvent = {
    kind: 'url_disabled',
    destination,
    webhook,
    enables,
    reason,
    at,
  };
  return attemptsRecord(destination, event);
}

/** Returns the event for the certificate of a server. */
export function certificateRecord({ origin, notAfter }: SeenCertificate, nowMs: number): OutRecord {
  const event: CertificateEvent = {
    kind: 'certificate',
    origin,
    notAfter: isoTime(notAfter),
    at: isoTime(nowMs),
  };
  return attemptsRecord(origin, event);
}
