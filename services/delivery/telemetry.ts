import { type Outcome, type UrlAttempt } from '../../shared/model/attempt-events';
import { type OutRecord } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { isTraced, recordProcess, recordSend, recordSpan } from '../../shared/telemetry/spans';
import { childTraceparent, spanIdOf, traceIdOf, withSpanId } from '../../shared/telemetry/trace';
import { type Admission } from './admission';
import { stepOutcomeOf, type StepOutcome } from './step-outcome';
import { type CircuitTransition } from './lanes/registry';
import { countRequest, deliveryMetrics } from './metrics';
import { type DeliveryInHand, type Traced, type AttemptResult, outcomeOfUrls } from './outcome';
import { type Target } from './endpoints';

/**
 * Counts all deliveries, logs the failed ones, and traces the ones with a recorded trace. Spans are written when they
 * end. Until then a traced delivery carries `DeliveryInHand.traced`; others carry nothing.
 */

const GROUP = 'delivery';

/** Begins the span of a record that was taken. */
export function taken(held: DeliveryInHand): void {
  const { delivery } = held;
  if (!isTraced(delivery.traceparent)) return;
  const context = childTraceparent(delivery.traceparent);
  held.traced = { context, previous: delivery.span, takenAt: performance.now(), concludedAt: 0 };
  // The records written for it pass this span on to the next step.
  delivery.span = spanIdOf(context);
}

/** Records the end of a request to one URL. @param context its own trace context, as sent */
export function answered({ traced }: DeliveryInHand, target: Target, attempt: UrlAttempt, context: string): void {
  const { status, error, durationMs } = attempt;
  countRequest(status, error?.code ?? '', durationMs);
  if (!traced) return;
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
      ...serverOf(target.origin),
      'http.response.status_code': status,
      'waypost.webhook.id': target.id,
    },
    error: errorType(attempt),
  });
}

/** Records an attempt that was concluded. */
export function attempted(
  log: Log,
  held: DeliveryInHand,
  done: { tried: AttemptResult; outcome: OutRecord[]; nowMs: number },
): void {
  const { tried, nowMs } = done;
  const outcome = outcomeOfUrls(tried);
  deliveryMetrics.attempts[outcome].value++;
  const error = outcome === 'delivered' ? undefined : tried.urls.map(errorType).findLast((type) => type !== undefined);
  if (held.traced && error !== undefined) held.traced.error = error;
  logAttempt(log, held, { tried, outcome, written: done.outcome, nowMs });
}

interface Attempted {
  tried: AttemptResult;
  outcome: Outcome;
  /** the records that this attempt produced */
  written: readonly OutRecord[];
  nowMs: number;
}

/**
 * Logs one wide line per attempt. Failed attempts are logged at `info`. Successful ones are logged at `info` only if
 * their trace is recorded, so that the cost follows the sampling, and otherwise at `debug`: a line takes 7 µs, a tenth
 * of the time for a whole webhook.
 */
function logAttempt(log: Log, held: DeliveryInHand, done: Attempted): void {
  const level = done.outcome === 'delivered' && !held.traced ? 'debug' : 'info';
  if (log.isLevelEnabled(level)) log[level](attemptLine(held, done), 'delivery.attempted');
}

function attemptLine(held: DeliveryInHand, { tried, outcome, written, nowMs }: Attempted) {
  const { delivery, record, traced } = held;
  const fate = stepOutcomeOf(held, written);
  return {
    delivery: delivery.id,
    message: delivery.messageId,
    source: delivery.sourceId,
    destination: delivery.destinationId,
    type: delivery.type,
    n: delivery.attempt + 1,
    replay: delivery.replay,
    outcome,
    fate: fate.kind,
    reason: fate.reason,
    durationMs: tried.durationMs,
    ageMs: nowMs - delivery.acceptedAt,
    urls: tried.urls.map(urlLine),
    ...record,
    trace_id: traceIdOf(delivery.traceparent),
    span_id: traced && spanIdOf(traced.context),
  };
}

/** Omits origin, path, headers and body: authorized users get them from control. */
function urlLine({ url, outcome, status, durationMs, error }: UrlAttempt) {
  return { url, outcome, status, durationMs, error: error?.code, phase: error?.phase };
}

/** Records the outcome of a delivery once Kafka has acknowledged it. */
export function finished(
  log: Log,
  held: DeliveryInHand,
  done: { outcome: OutRecord[]; admission: Admission | undefined; nowMs: number },
): void {
  const fate = stepOutcomeOf(held, done.outcome, done.admission);
  count(held, fate, done.nowMs);
  if (fate.kind === 'dead' && done.admission) {
    const { delivery } = held;
    const { id, destinationId: destination, reason } = { ...delivery, reason: fate.reason };
    log.info({ delivery: id, destination, reason, trace_id: traceIdOf(delivery.traceparent) }, 'delivery.dead');
  }
  if (held.traced) trace(held, held.traced, fate);
}

/** Records a delivery that was handed back untouched. */
export function released(held: DeliveryInHand): void {
  if (held.traced) trace(held, { ...held.traced, concludedAt: performance.now() }, { kind: 'released' });
}

/** Counts a record that could not be read. */
export function unreadable(): void {
  deliveryMetrics.dead.of({ reason: 'unreadable' }).value++;
}

/** Records that a URL's circuit opened or closed again. */
export function circuitTurned(log: Log, { target, state, why }: CircuitTransition): void {
  deliveryMetrics[state === 'open' ? 'opened' : 'closed'].value++;
  log.info(
    { destination: target.destinationId, url: target.id, state, why },
    state === 'open' ? 'circuit.opened' : 'circuit.closed',
  );
}

function count({ delivery }: DeliveryInHand, { kind, reason = '' }: StepOutcome, nowMs: number): void {
  switch (kind) {
    case 'delivered':
      deliveryMetrics.delivered.value++;
      if (delivery.replay > 0) return;
      deliveryMetrics[delivery.attempt === 0 ? 'first' : 'later'].record((nowMs - delivery.acceptedAt) / 1_000);
      return;
    case 'tested':
      return;
    case 'retried':
    case 'diverted':
    case 'dead':
    case 'cancelled':
      deliveryMetrics[kind].of({ reason }).value++;
  }
}

function trace(
  held: DeliveryInHand,
  traced: Traced,
  fate: Omit<StepOutcome, 'kind'> & { kind: StepOutcome['kind'] | 'released' },
): void {
  const { delivery, record } = held;
  const { context, previous, takenAt, concludedAt, error } = traced;
  const about = { 'messaging.message.id': delivery.messageId, 'waypost.delivery.id': delivery.id };
  if (fate.topic !== undefined) {
    recordSend({ parent: context, topic: fate.topic, startedAt: concludedAt, attributes: about });
  }
  recordProcess({
    record,
    group: GROUP,
    context,
    parent: delivery.traceparent,
    startedAt: takenAt,
    attributes: {
      ...about,
      'waypost.destination.id': delivery.destinationId,
      'waypost.attempt': delivery.attempt + 1,
      'waypost.replay': delivery.replay,
      'waypost.outcome': fate.kind,
      'waypost.reason': fate.reason,
    },
    links: previous === undefined ? [] : [{ context: withSpanId(context, previous), as: 'previous' }],
    error,
  });
}

function errorType({ status, error }: UrlAttempt): string | undefined {
  return error && (status === undefined ? error.code : String(status));
}

/** Returns host and port only: paths may contain tokens. */
function serverOf(origin: string) {
  const { hostname, port, protocol } = new URL(origin);
  return { 'server.address': hostname, 'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) };
}
