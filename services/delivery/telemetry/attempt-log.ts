import { type UrlAttempt } from '../../../shared/model/attempt-events';
import { attemptsMade } from '../../../shared/model/delivery';
import { LogSample } from '../../../shared/runtime/load-limits';
import { type Log } from '../../../shared/telemetry/log';
import { traceIdOf, spanIdOf } from '../../../shared/telemetry/trace';
import { type AttemptDisposition, type DeliveryInHand } from '../decisions/disposition';

/** Limits of the log for each process and minute. A line has 600 bytes. */
const LOGGED_PER_DESTINATION = 5;
const LOGGED_OVERALL = 300;
const SAMPLE_MS = 60_000;

/**
 * Logs attempts, one wide line each.
 * - An attempt with a recorded trace is always logged, at `info`: the cost follows the sampling of
 *   traces.
 * - Other failed attempts are sampled at `info`. A minute after the first of them, a line for each
 *   destination says how many were left out. An endpoint that is away for hours would otherwise
 *   fill the disk with the same line.
 * - Successful attempts are logged at `debug`: a line takes 7 µs, a tenth of the time for a whole
 *   webhook. That level shows every failed attempt too.
 */
export class AttemptLog {
  readonly #sample = new LogSample(LOGGED_PER_DESTINATION, LOGGED_OVERALL);
  #summary: NodeJS.Timeout | undefined;

  constructor(private readonly log: Log) {}

  attempted(inHand: DeliveryInHand, disposition: AttemptDisposition, nowMs: number): void {
    const { traced, delivery } = inHand;
    const level = disposition.attempt.outcome === 'delivered' && !traced ? 'debug' : 'info';
    if (!this.log.isLevelEnabled(level)) return;
    if (!traced && level === 'info' && !this.#samples(delivery.destinationId)) return;
    this.log[level](attemptLine(inHand, disposition, nowMs), 'delivery.attempted');
  }

  /** Logs how many attempts were left out since the last call. */
  summarize(): void {
    clearTimeout(this.#summary);
    this.#summary = undefined;
    for (const { key: destination, leftOut } of this.#sample.drain()) {
      this.log.info({ destination, leftOut }, 'delivery.attempts_left_out');
    }
  }

  #samples(destination: string): boolean {
    if (this.log.isLevelEnabled('debug')) return true;
    this.#summary ??= setTimeout(() => this.summarize(), SAMPLE_MS).unref();
    return this.#sample.admits(destination);
  }
}

function attemptLine(inHand: DeliveryInHand, disposition: AttemptDisposition, nowMs: number) {
  const { delivery, record, traced } = inHand;
  const { outcome, durationMs, urls } = disposition.attempt;
  return {
    delivery: delivery.id,
    message: delivery.messageId,
    source: delivery.sourceId,
    destination: delivery.destinationId,
    type: delivery.type,
    n: attemptsMade(delivery) + 1,
    replay: delivery.replay,
    outcome,
    fate: disposition.kind,
    reason: 'reason' in disposition ? disposition.reason : undefined,
    durationMs,
    ageMs: nowMs - delivery.acceptedAt,
    urls: urls.map(urlLine),
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    trace_id: traceIdOf(delivery.traceparent),
    span_id: traced && spanIdOf(traced.context),
  };
}

/** Omits origin, path, headers and body: authorized users get them from control. */
function urlLine({ url, outcome, status, durationMs, error, batch, oddities }: UrlAttempt) {
  return {
    url,
    outcome,
    status,
    durationMs,
    error: error?.code,
    phase: error?.phase,
    batch: batch?.id,
    oddities,
  };
}
