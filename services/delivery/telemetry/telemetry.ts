import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { attemptsMade, type Delivery } from '../../../shared/model/delivery';
import { type Log } from '../../../shared/telemetry/log';
import { type Count, type Distribution } from '../../../shared/telemetry/metrics';
import {
  childTraceparent,
  isTraced,
  recordProcess,
  recordSend,
  recordSpan,
  spanIdOf,
  traceIdOf,
  withSpanId,
} from '../../../shared/telemetry/trace';
import { type CircuitTransition } from '../lanes/registry';
import { deliveryMetrics } from './metrics';
import { type AttemptLog } from './attempt-log';
import {
  type DeliveryInHand,
  nextTopic,
  type Disposition,
  type Traced,
} from '../decisions/disposition';
import { type Endpoint } from '../destinations/endpoint';

/**
 * Counts all deliveries, logs attempts and dead letters, and traces the ones with a recorded trace.
 * Spans are written when they end. Until then a traced delivery carries `DeliveryInHand.traced`;
 * others carry nothing.
 */

const GROUP = 'delivery';

/** Begins the span of a record that was taken. */
export function deliveryTaken(inHand: DeliveryInHand): void {
  const { delivery } = inHand;
  if (!isTraced(delivery.traceparent)) return;
  const context = childTraceparent(delivery.traceparent);
  inHand.traced = { context, previous: delivery.span, takenAt: performance.now(), concludedAt: 0 };
  // The records written for it pass this span on to the next step.
  delivery.span = spanIdOf(context);
}

/** Counts an attempt that ends with a batch whose halves follow. */
export function batchHalved(): void {
  deliveryMetrics.attempts.retry.value++;
}

/** Traces the end of a delivery's request to one URL. @param context its own trace context */
export function responseReceived(
  { traced }: DeliveryInHand,
  endpoint: Endpoint,
  attempt: UrlAttempt,
  context: string,
): void {
  if (!traced) return;
  const { status, durationMs } = attempt;
  const endedAt = performance.now();
  recordSpan({
    name: 'POST',
    kind: 'client',
    context,
    parent: traced.context,
    startedAt: endedAt - durationMs,
    endedAt,
    attributes: {
      'http.request.method': 'POST',
      ...serverOf(endpoint.origin),
      'http.response.status_code': status,
      'waypost.webhook.id': endpoint.id,
    },
    error: errorType(attempt),
  });
}

/** Records the disposition of a delivery before it is written. */
export function deliveryConcluded(
  log: AttemptLog,
  inHand: DeliveryInHand,
  disposition: Disposition,
  nowMs: number,
): void {
  if (disposition.attempt) {
    deliveryMetrics.attempts[disposition.attempt.outcome].value++;
    log.attempted(inHand, disposition, nowMs);
  }
  if (inHand.traced) inHand.traced.concludedAt = performance.now();
}

/** Records the disposition of a delivery once Kafka has acknowledged it. */
export function deliveryRecorded(
  log: Log,
  inHand: DeliveryInHand,
  disposition: Disposition,
  nowMs: number,
): void {
  const counter = counterOf(disposition);
  if (counter) counter.value++;
  durationOf(inHand.delivery, disposition)?.record((nowMs - inHand.delivery.acceptedAt) / 1_000);
  // The line of an attempt says so already.
  if (disposition.kind === 'dead' && !disposition.attempt) {
    const { id, destinationId: destination, traceparent } = inHand.delivery;
    const { reason } = disposition;
    log.info(
      { delivery: id, destination, reason, trace_id: traceIdOf(traceparent) },
      'delivery.dead',
    );
  }
  if (inHand.traced) trace(inHand, inHand.traced, disposition);
}

/** Records a delivery that was handed back untouched. */
export function deliveryHandedBack(inHand: DeliveryInHand): void {
  if (inHand.traced) trace(inHand, inHand.traced, undefined);
}

/** Counts a record that could not be read. */
export function recordUnreadable(): void {
  deliveryMetrics.dead.of({ reason: 'unreadable' }).value++;
}

/** Records that a URL's circuit opened or closed again. */
export function circuitChanged(log: Log, { endpoint, state, why }: CircuitTransition): void {
  deliveryMetrics[state === 'open' ? 'opened' : 'closed'].value++;
  log.info(
    { destination: endpoint.destinationId, url: endpoint.id, state, why },
    state === 'open' ? 'circuit.opened' : 'circuit.closed',
  );
}

/** Records that this process stopped sending to a URL, because its receiver wants nothing more. */
export function urlDisabled(log: Log, endpoint: Endpoint, reason: 'gone' | 'asked'): void {
  log.warn({ destination: endpoint.destinationId, url: endpoint.id, reason }, 'url.disabled');
}

/** Returns the counter of a disposition; undefined for a test send, which is not counted. */
export function counterOf(disposition: Disposition): Count | undefined {
  switch (disposition.kind) {
    case 'delivered':
      return deliveryMetrics.delivered;
    case 'tested':
      return undefined;
    case 'retried':
    case 'diverted':
    case 'dead':
    case 'cancelled':
      return deliveryMetrics[disposition.kind].of({ reason: disposition.reason });
  }
}

/**
 * Returns the series for the time from acceptance to the 2xx; undefined if this step does not end
 * it, or for a replay.
 */
export function durationOf(
  { attempt, replay }: Delivery,
  disposition: Disposition,
): Distribution | undefined {
  if (disposition.kind !== 'delivered' || replay > 0) return undefined;
  return deliveryMetrics[attempt === 0 ? 'first' : 'later'];
}

function reasonOf(disposition: Disposition): string | undefined {
  return 'reason' in disposition ? disposition.reason : undefined;
}

/** @param disposition undefined if the record was handed back */
function trace(inHand: DeliveryInHand, traced: Traced, disposition: Disposition | undefined): void {
  const topic = disposition && nextTopic(disposition);
  if (topic !== undefined) {
    const { context: parent, concludedAt: startedAt } = traced;
    recordSend({ parent, topic, startedAt, attributes: idsOf(inHand) });
  }
  recordProcess(stepSpan(inHand, traced, disposition));
}

/** Returns the span of a step. @param disposition undefined if the record was handed back */
export function stepSpan(
  inHand: DeliveryInHand,
  traced: Traced,
  disposition: Disposition | undefined,
) {
  const { delivery, record } = inHand;
  const { context, previous, takenAt } = traced;
  return {
    record,
    group: GROUP,
    context,
    parent: delivery.traceparent,
    startedAt: takenAt,
    attributes: {
      ...idsOf(inHand),
      'waypost.destination.id': delivery.destinationId,
      'waypost.attempt': attemptsMade(delivery) + 1,
      'waypost.replay': delivery.replay,
      'waypost.outcome': disposition?.kind ?? 'released',
      'waypost.reason': disposition && reasonOf(disposition),
    },
    links:
      previous === undefined
        ? []
        : [{ context: withSpanId(context, previous), as: 'previous' as const }],
    error: disposition && errorOf(disposition),
  };
}

function idsOf({ delivery }: DeliveryInHand) {
  return { 'messaging.message.id': delivery.messageId, 'waypost.delivery.id': delivery.id };
}

/** Returns `error.type` of a failed attempt. */
function errorOf({ attempt }: Disposition): string | undefined {
  if (!attempt || attempt.outcome === 'delivered') return undefined;
  return attempt.urls.map(errorType).findLast((type) => type !== undefined);
}

function errorType({ status, error }: UrlAttempt): string | undefined {
  return error && (status === undefined ? error.code : String(status));
}

/** Returns host and port only: paths may contain tokens. */
function serverOf(origin: string) {
  const { hostname, port, protocol } = new URL(origin);
  return {
    'server.address': hostname,
    'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  };
}
