import { type Outcome, type UrlAttempt } from '../../shared/model/attempt-events';
import { type OutRecord } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { spanIdOf, traceIdOf } from '../../shared/telemetry/trace';
import { stepOutcomeOf } from './step-outcome';
import { type DeliveryInHand, type AttemptResult } from './outcome';

interface Attempted {
  tried: AttemptResult;
  outcome: Outcome;
  /** what is written of it */
  written: readonly OutRecord[];
  nowMs: number;
}

/**
 * One wide line an attempt. One that failed is always told. One that succeeded is where its trace is recorded, so that each
 * of those has its line and the cost follows the sampling; else only at `debug`: a line takes 7 µs, a tenth of all that a
 * webhook takes.
 */
export function logAttempt(log: Log, held: DeliveryInHand, done: Attempted): void {
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

/** Without origin, path, headers and body: whoever may know them asks control. */
function urlLine({ url, outcome, status, durationMs, error }: UrlAttempt) {
  return { url, outcome, status, durationMs, error: error?.code, phase: error?.phase };
}
