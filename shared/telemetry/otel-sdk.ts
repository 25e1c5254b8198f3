import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Link,
  type SpanContext,
} from '@opentelemetry/api';
import { NodeSDK, tracing } from '@opentelemetry/sdk-node';
import { type Metrics } from './metrics';
import { observeMetrics } from './otel-metrics';
import { writeSpansBy, type SpanSpec } from './spans';
import { spanIdOf, traceIdOf } from './trace';

/**
 * OpenTelemetry's SDK, set up by its own `OTEL_*` variables. Which traces are recorded was decided at ingest and travels with
 * each message, so that here all that comes is; and ids were given out before, so that they are not made here.
 */

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

/** @returns sends what is left, and ends it */
export function startSdk(metrics: Metrics): () => Promise<void> {
  let next: SpanSpec | undefined;
  const idGenerator = {
    generateTraceId: () => traceIdOf(next?.context ?? ''),
    generateSpanId: () => spanIdOf(next?.context ?? ''),
  };
  // No context manager: parents are named, and none is carried along by every promise of the process.
  const sdk = new NodeSDK({ idGenerator, sampler: new tracing.AlwaysOnSampler(), contextManager: null as never });
  sdk.start();
  observeMetrics(metrics);

  const tracer = trace.getTracer('waypost');
  writeSpansBy((spec) => {
    next = spec;
    const parent =
      spec.parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(spec.parent));
    const span = tracer.startSpan(
      spec.name,
      {
        kind: KINDS[spec.kind],
        attributes: spec.attributes,
        links: (spec.links ?? []).map((link): Link => ({
          context: contextOf(link.context),
          attributes: { 'waypost.link': link.as },
        })),
        startTime: epochMs(spec.startedAt),
      },
      parent,
    );
    if (spec.error !== undefined) {
      span.setAttribute('error.type', spec.error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(epochMs(spec.endedAt));
  });
  return async () => {
    writeSpansBy(undefined);
    await sdk.shutdown();
  };
}

function contextOf(traceparent: string): SpanContext {
  return {
    traceId: traceIdOf(traceparent),
    spanId: spanIdOf(traceparent),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}

/** Beyond it the clock was set, or the machine slept. */
const MOST_DRIFT_MS = 10;
let offsetMs = performance.timeOrigin;

/** ms since 1970, finer than the machine's clock tells it, of a moment by `performance.now()`. */
function epochMs(moment: number): number {
  const before = performance.now();
  const drift = Date.now() - (offsetMs + before);
  // Where this process was set aside between the two clocks, they tell nothing of each other.
  const together = performance.now() - before < 1;
  if (together && Math.abs(drift) > MOST_DRIFT_MS) offsetMs += drift;
  return offsetMs + moment;
}
