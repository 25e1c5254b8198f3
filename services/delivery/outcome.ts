import { type Delivery, encodeDelivery } from '../../shared/model/delivery';
import {
  type AttemptEvent,
  type CancelledEvent,
  type CircuitEvent,
  type DeadEvent,
  type Outcome,
  type UrlAttempt,
  type WaitingEvent,
} from '../../shared/model/attempt-events';
import { mergeOutcomes } from '../../shared/model/classify-response';
import { afterFailure, lastReturnAt, type Wait } from '../../shared/model/schedule';
import { isoTime } from '../../shared/model/client-clock';
import { type Admission, type Timing } from './admission';
import { type CircuitTransition } from './lanes/registry';
import { ATTEMPTS, DEAD, tierTopic } from '../../shared/kafka/topics';
import { type InRecord, type OutRecord } from '../../shared/kafka/port';

/** Derives the records to write from what happened to a delivery. Pure. */

/** A delivery and the record that holds it. The body is the exact bytes to POST and never changes. */
export interface DeliveryInHand {
  delivery: Delivery;
  key: string | null;
  body: Buffer;
  record: { topic: string; partition: number; offset: number };
  /** set if its trace is recorded */
  traced?: Traced;
}

/** A step of a delivery whose trace is recorded. */
export interface Traced {
  /** traceparent of its span */
  context: string;
  /** span id of the previous step */
  previous: string | undefined;
  /** by `performance.now()`: when it was taken, and when its outcome was handed to the producer */
  takenAt: number;
  concludedAt: number;
  /** `error.type` of the attempt */
  error?: string;
}

export interface AttemptResult {
  urls: UrlAttempt[];
  /** hashes of the URLs that must not be tried again */
  rejected: string[];
  /** true if a URL had no place in its lane and was left out of this attempt */
  skipped: boolean;
  /** the longest wait that a response asked for */
  retryAfterMs?: number;
  durationMs: number;
}

/** Returns the records that follow from an attempt: its event, and the delivery's next record. */
export function concludeAttempt(held: DeliveryInHand, tried: AttemptResult, context: Timing): OutRecord[] {
  const { delivery } = held;
  const n = delivery.attempt + 1;
  const outcome = outcomeOfUrls(tried);
  const event = attemptEvent(held, { n, outcome, tried, nowMs: context.nowMs });
  if (outcome === 'delivered' || delivery.test) return [eventRecord(event)];

  const error = lastError(tried.urls);
  const closed = [...delivery.closed, ...tried.rejected];
  const spent: Delivery = { ...withoutWait(delivery), attempt: n, closed, ...(error === undefined ? {} : { error }) };
  if (outcome === 'rejected') return deadLetter({ ...held, delivery: spent }, 'rejected', context, event);

  const next = afterFailure({
    nowMs: context.nowMs,
    attempt: n,
    expiresAt: lastReturnAt(delivery.expiresAt, context.windowMs),
    tiersMs: context.tiersMs,
    final: delivery.final === true,
    ...(tried.retryAfterMs === undefined ? {} : { retryAfterMs: tried.retryAfterMs }),
  });
  if (next.kind === 'closed') return deadLetter({ ...held, delivery: spent }, 'window_closed', context, event);

  const reason = tried.retryAfterMs === undefined ? 'backoff' : 'retry_after';
  const waiting: Delivery = { ...spent, hop: delivery.hop + 1, reason };
  if (next.final) waiting.final = true;
  if (next.notBefore !== undefined) waiting.notBefore = next.notBefore;
  return [
    eventRecord({ ...event, reason, nextAttemptAt: isoTime(next.nextAttemptAt) }),
    record(tierTopic(next.tierMs), held, waiting),
  ];
}

/** Returns the records of a delivery that is not tried now. */
export function recordsOf(
  held: DeliveryInHand,
  admission: Exclude<Admission, { kind: 'try' }>,
  context: Timing,
): OutRecord[] {
  switch (admission.kind) {
    case 'cancel':
      return cancel(held, admission.reason, context);
    case 'bury':
      return deadLetter(held, admission.reason, context);
    case 'hold':
      return waitRecords(held, admission.reason, admission.wait, context);
  }
}

/**
 * Sends a delivery to a tier without an attempt. It writes an event only if the reason is new, since a long wait has
 * many hops.
 */
export function waitRecords(held: DeliveryInHand, reason: string, wait: Wait, context: Timing): OutRecord[] {
  const { delivery } = held;
  const waiting: Delivery = { ...delivery, hop: delivery.hop + 1, reason };
  if (reason === 'retry_after') {
    delete waiting.notBefore;
    if (wait.notBefore !== undefined) waiting.notBefore = wait.notBefore;
  }
  if (wait.final) waiting.final = true;
  const records = [record(tierTopic(wait.tierMs), held, waiting)];
  if (delivery.reason !== reason) {
    const nextAttemptAt = isoTime(wait.nextAttemptAt);
    const event: WaitingEvent = {
      ...about(held, context.nowMs),
      kind: 'waiting',
      n: delivery.attempt,
      reason,
      nextAttemptAt,
    };
    records.push(eventRecord(event));
  }
  return records;
}

/** Sends a delivery to the dead letters with the reason. */
export function deadLetter(held: DeliveryInHand, reason: string, context: Timing, attempt?: AttemptEvent): OutRecord[] {
  const event: DeadEvent = { ...about(held, context.nowMs), kind: 'dead', n: held.delivery.attempt, reason };
  return [
    ...(attempt ? [eventRecord({ ...attempt, reason })] : []),
    eventRecord(event),
    record(DEAD, held, { ...withoutWait(held.delivery), reason }),
  ];
}

export function cancel(held: DeliveryInHand, reason: string, context: Timing): OutRecord[] {
  const event: CancelledEvent = { ...about(held, context.nowMs), kind: 'cancelled', n: held.delivery.attempt, reason };
  return [eventRecord(event)];
}

/** Sends an unreadable record to the dead letters unchanged, with the reason, so that it holds up no other. */
export function unreadableRecord(from: InRecord, why: string): OutRecord {
  return {
    topic: DEAD,
    key: from.key?.toString() ?? null,
    value: Buffer.from(from.value ?? ''),
    headers: { ...(from.headers as Record<string, string>), reason: 'unreadable', error: why },
  };
}

/**
 * Returns the event for requests that ended after another URL's 2xx settled the delivery. It belongs to the same
 * attempt.
 */
export function lateEvent(held: DeliveryInHand, tried: AttemptResult, context: Timing): OutRecord {
  const n = held.delivery.attempt + 1;
  return eventRecord({ ...attemptEvent(held, { n, outcome: 'delivered', tried, nowMs: context.nowMs }), late: true });
}

/** Returns the event for a circuit that opened or closed. */
export function circuitRecord({ target, state, why }: CircuitTransition, nowMs: number): OutRecord {
  const { destinationId: destination, id: url, origin } = target;
  const event: CircuitEvent = { kind: 'circuit', destination, url, origin, state, why, at: isoTime(nowMs) };
  return { topic: ATTEMPTS, key: destination, value: JSON.stringify(event) };
}

/**
 * Merges the outcomes of an attempt's URLs. A URL left out for lack of room may still accept the delivery, so it does
 * not count as rejected.
 */
export function outcomeOfUrls({ urls, skipped }: AttemptResult): Outcome {
  const outcome = mergeOutcomes(urls.map((url) => url.outcome));
  return outcome === 'rejected' && skipped ? 'retry' : outcome;
}

function attemptEvent(
  held: DeliveryInHand,
  { n, outcome, tried, nowMs }: { n: number; outcome: Outcome; tried: AttemptResult; nowMs: number },
): AttemptEvent {
  const { durationMs, urls } = tried;
  return Object.assign(about(held, nowMs), { kind: 'attempt' as const, n, outcome, durationMs, urls });
}

/** JSON leaves out undefined fields. */
function about({ delivery, record }: DeliveryInHand, nowMs: number) {
  return {
    delivery: delivery.id,
    message: delivery.messageId,
    source: delivery.sourceId,
    destination: delivery.destinationId,
    type: delivery.type,
    userId: delivery.userId,
    anonymousId: delivery.anonymousId,
    acceptedAt: isoTime(delivery.acceptedAt),
    expiresAt: isoTime(delivery.expiresAt),
    replay: delivery.replay,
    hop: delivery.hop,
    test: delivery.test ? (true as const) : undefined,
    traceparent: delivery.traceparent,
    record,
    at: isoTime(nowMs),
  };
}

/** Removes the details of an earlier wait, which do not apply to the next one. */
function withoutWait(delivery: Delivery): Delivery {
  const { notBefore, final, reason, ...rest } = delivery;
  return rest;
}

function lastError(urls: UrlAttempt[]): string | undefined {
  const failed = urls.findLast((url) => url.error);
  return failed?.error && `${failed.error.code}: ${failed.error.message}`;
}

function record(topic: string, { key, body }: DeliveryInHand, delivery: Delivery): OutRecord {
  return { topic, key, value: body, headers: encodeDelivery(delivery) };
}

function eventRecord(event: AttemptEvent | WaitingEvent | DeadEvent | CancelledEvent): OutRecord {
  return { topic: ATTEMPTS, key: event.delivery, value: JSON.stringify(event) };
}
