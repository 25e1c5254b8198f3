import { type Outcome, type UrlAttempt } from '../../shared/model/attempt-events';
import { type OutRecord } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { spanIdOf, traceIdOf } from '../../shared/telemetry/trace';
import { stepOutcomeOf } from './step-outcome';
import { type DeliveryInHand, type AttemptResult } from './outcome';

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

/** Omits origin, path, headers and body: authorized users get them from control. */
function urlLine({ url, outcome, status, durationMs, error }: UrlAttempt) {
  return { url, outcome, status, durationMs, error: error?.code, phase: error?.phase };
}
