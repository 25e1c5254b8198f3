import { compact, defined } from '../../../shared/collections/defined';
import { attemptsMade, type Delivery, encodeDelivery } from '../../../shared/model/delivery';
import {
  aboutDelivery,
  type AttemptEvent,
  type CancelledEvent,
  type DeadEvent,
  type Outcome,
  type UrlAttempt,
  type WaitingEvent,
} from '../../../shared/model/attempt-events';
import { type DeadReason, type RetryReason } from '../../../shared/model/reasons';
import { mergeClassifications } from '../../../shared/model/classify-response';
import { type Wait } from '../../../shared/model/schedule';
import { tooLargeRecords } from '../../../shared/render/too-large';
import { isoTime } from '../../../shared/model/time';
import { isRequested, nextTry, type NotTried, type Timing } from './admission';
import { attemptsRecord, DEAD, tierTopic } from '../../../shared/kafka/topics';
import { type OutRecord } from '../../../shared/kafka/port';

/** Decides the disposition of a step of a delivery, and derives its records. Pure. */

/**
 * A delivery and the record that holds it. The body is the exact bytes to POST and never changes.
 */
export interface DeliveryInHand {
  delivery: Delivery;
  key: string | null;
  body: Buffer;
  /** the record that holds it */
  record: { readonly topic: string; readonly partition: number; readonly offset: number };
  /** set if its trace is recorded */
  traced?: Traced;
}

/** A step of a delivery whose trace is recorded. */
export interface Traced {
  /** traceparent of its span */
  context: string;
  /** span id of the previous step */
  previous: string | undefined;
  /** by `performance.now()`: when it was taken, and when its records were handed to the producer */
  takenAt: number;
  concludedAt: number;
}

export interface AttemptResult {
  urls: UrlAttempt[];
  /** hashes of the URLs that must not be tried again */
  rejected: string[];
  /** true if a URL had no place in its lane and was left out of this attempt */
  skipped: boolean;
  /** true if a URL that is switched off could take it otherwise */
  disabled?: boolean;
  /** true if a receiver asked not to get the message again */
  aborted?: boolean;
  /**
   * the shortest wait that the URLs to ask again have asked for; undefined: one of them asked for
   * none
   */
  retryAfterMs?: number | undefined;
  durationMs: number;
  /** requests that have not ended, whose responses will be late */
  pending?: number;
  /** ids of the destination's URLs that the attempt did not call; undefined: none */
  notCalled?: string[] | undefined;
}

/** An attempt that was concluded. */
interface ConcludedAttempt extends AttemptResult {
  outcome: Outcome;
}

/**
 * The disposition of a step, which is one reading of a delivery's record. Its records, metrics, log
 * line and span derive from it.
 */
export type Disposition =
  | { kind: 'delivered'; attempt: ConcludedAttempt }
  /** a test send, which has no next step */
  | { kind: 'tested'; attempt: ConcludedAttempt }
  | { kind: 'retried'; reason: RetryReason; wait: Wait; attempt: ConcludedAttempt }
  | (NotTried & { attempt?: undefined })
  /** given up after an attempt */
  | { kind: 'dead'; reason: DeadReason; attempt: ConcludedAttempt };

/** The disposition of a step with an attempt. */
export type AttemptDisposition = Extract<Disposition, { attempt: ConcludedAttempt }>;

type Ended<Kind> = Extract<Disposition, { kind: Kind }>;

/** Decides the outcome of an attempt and the disposition of its step. */
export function concludeAttempt(
  delivery: Delivery,
  tried: AttemptResult,
  timing: Timing,
): AttemptDisposition {
  const outcome = outcomeOf(tried);
  const { urls, rejected, skipped, durationMs, retryAfterMs, pending = 0 } = tried;
  const attempt: ConcludedAttempt = {
    urls,
    rejected,
    skipped,
    durationMs,
    retryAfterMs,
    pending,
    outcome,
  };
  if (outcome === 'delivered' && tried.notCalled) attempt.notCalled = tried.notCalled;
  if (delivery.test) return { kind: 'tested', attempt };
  if (outcome === 'delivered') return { kind: 'delivered', attempt };
  if (outcome === 'rejected') return { kind: 'dead', reason: rejectionOf(tried), attempt };

  const wait = nextTry(delivery, retryAfterMs, timing);
  if (!wait) return { kind: 'dead', reason: 'window_closed', attempt };
  const reason = retryAfterMs === undefined ? 'backoff' : 'retry_after';
  return { kind: 'retried', reason, wait, attempt };
}

function rejectionOf({ disabled, aborted }: AttemptResult): DeadReason {
  if (disabled) return 'url_disabled';
  return aborted ? 'aborted_by_receiver' : 'rejected';
}

/** Returns the topic of the delivery's next record; undefined if the delivery has ended. */
export function nextTopic(disposition: Disposition): string | undefined {
  if (disposition.kind === 'dead') return DEAD;
  return 'wait' in disposition ? tierTopic(disposition.wait.tierMs) : undefined;
}

/** Returns the records of a step: its events, and the delivery's next record. */
export function recordsOf(
  inHand: DeliveryInHand,
  disposition: Disposition,
  nowMs: number,
): OutRecord[] {
  switch (disposition.kind) {
    case 'delivered':
    case 'tested':
      return [eventRecord(attemptEvent(inHand, disposition.attempt, nowMs))];
    case 'retried':
      return retryRecords(inHand, disposition, nowMs);
    case 'diverted':
      return divertRecords(inHand, disposition, nowMs);
    case 'dead':
      return deadRecords(inHand, disposition, nowMs);
    case 'cancelled': {
      const { kind, reason } = disposition;
      return [
        eventRecord({
          ...deliveryFields(inHand, nowMs),
          kind,
          n: attemptsMade(inHand.delivery),
          reason,
        }),
      ];
    }
  }
}

function retryRecords(
  inHand: DeliveryInHand,
  disposition: Ended<'retried'>,
  nowMs: number,
): OutRecord[] {
  const { reason, wait, attempt } = disposition;
  const waiting: Delivery = {
    ...afterAttempt(inHand.delivery, attempt),
    hop: inHand.delivery.hop + 1,
    reason,
    due: nowMs + wait.tierMs,
  };
  if (wait.notBefore !== undefined) waiting.notBefore = wait.notBefore;
  const event = attemptEvent(inHand, attempt, nowMs);
  // Tiers may end before or after what they add up to, but never before the time asked for.
  const nextAttemptAt =
    reason === 'retry_after' ? (wait.notBefore ?? wait.nextAttemptAt) : wait.nextAttemptAt;
  return [
    eventRecord({ ...event, reason, nextAttemptAt: isoTime(nextAttemptAt) }),
    deliveryRecord(tierTopic(wait.tierMs), inHand, waiting),
  ];
}

/**
 * Writes an event only if the reason is new, since a long wait has many hops, or if a user had sent
 * the delivery.
 */
function divertRecords(
  inHand: DeliveryInHand,
  disposition: Ended<'diverted'>,
  nowMs: number,
): OutRecord[] {
  const { delivery } = inHand;
  const { reason, wait, urls } = disposition;
  const { recalled, due, ...rest } = delivery;
  const waiting: Delivery = { ...rest, hop: delivery.hop + 1, reason };
  if (!wait.clocksDiffer) waiting.due = nowMs + wait.tierMs;
  if (reason === 'retry_after' || reason === 'backoff') {
    delete waiting.notBefore;
    if (wait.notBefore !== undefined) waiting.notBefore = wait.notBefore;
  }
  const records = [deliveryRecord(tierTopic(wait.tierMs), inHand, waiting)];
  if (delivery.reason !== reason || isRequested(delivery)) {
    records.push(
      eventRecord({
        ...deliveryFields(inHand, nowMs),
        kind: 'waiting',
        n: attemptsMade(delivery),
        reason,
        nextAttemptAt: isoTime(wait.nextAttemptAt),
        urls,
      }),
    );
  }
  return records;
}

function deadRecords(
  inHand: DeliveryInHand,
  { reason, attempt }: Ended<'dead'>,
  nowMs: number,
): OutRecord[] {
  const ended = attempt ? afterAttempt(inHand.delivery, attempt) : withoutWait(inHand.delivery);
  return compact([
    attempt ? eventRecord({ ...attemptEvent(inHand, attempt, nowMs), reason }) : undefined,
    eventRecord({ ...deliveryFields(inHand, nowMs), kind: 'dead', n: attemptsMade(ended), reason }),
    deliveryRecord(DEAD, inHand, { ...ended, reason }),
  ]);
}

/** Returns the records of a step whose records Kafka refuses for good: the delivery ends. */
export function refusedRecords(
  { delivery, record, key }: DeliveryInHand,
  { attempt }: Disposition,
  nowMs: number,
): OutRecord[] {
  const { topic, partition, offset } = record;
  const ended = attempt ? afterAttempt(delivery, attempt) : delivery;
  return tooLargeRecords(ended, { topic, partition, offset, key }, nowMs);
}

/**
 * Merges the classifications of an attempt's URLs. A URL left out for lack of room may still accept
 * the delivery, so it does not count as rejected.
 */
function outcomeOf({ urls, skipped }: AttemptResult): Outcome {
  const outcome = mergeClassifications(urls.map((url) => url.outcome));
  return outcome === 'rejected' && skipped ? 'retry' : outcome;
}

export function attemptEvent(
  inHand: DeliveryInHand,
  attempt: ConcludedAttempt,
  nowMs: number,
): AttemptEvent {
  const { outcome, durationMs, urls, notCalled } = attempt;
  const n = attemptsMade(inHand.delivery) + 1;
  return Object.assign(deliveryFields(inHand, nowMs), {
    kind: 'attempt' as const,
    n,
    outcome,
    durationMs,
    notCalled,
    urls,
  });
}

function deliveryFields({ delivery, record }: DeliveryInHand, nowMs: number) {
  const { topic, partition, offset } = record;
  return aboutDelivery(delivery, { topic, partition, offset }, nowMs);
}

/** Returns the delivery with this attempt counted, and without the details of its last wait. */
function afterAttempt(delivery: Delivery, { rejected, urls }: AttemptResult): Delivery {
  const error = lastError(urls);
  const excludedUrls = [...delivery.excludedUrls, ...rejected];
  return {
    ...withoutWait(delivery),
    attempt: delivery.attempt + 1,
    excludedUrls,
    ...defined({ error }),
  };
}

/** Removes the details of an earlier wait, which do not apply to the next one. */
function withoutWait(delivery: Delivery): Delivery {
  const { notBefore, due, final, reason, recalled, ...rest } = delivery;
  return rest;
}

function lastError(urls: UrlAttempt[]): string | undefined {
  const failed = urls.findLast((url) => url.error);
  return failed?.error && `${failed.error.code}: ${failed.error.message}`;
}

function deliveryRecord(
  topic: string,
  { key, body }: DeliveryInHand,
  delivery: Delivery,
): OutRecord {
  return { topic, key, value: body, headers: encodeDelivery(delivery) };
}

export function eventRecord(
  event: AttemptEvent | WaitingEvent | DeadEvent | CancelledEvent,
): OutRecord {
  return attemptsRecord(event.delivery, event);
}
