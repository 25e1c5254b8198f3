import {
  metrics as api,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Link,
  type Meter,
  type Observable,
  type SpanContext,
} from '@opentelemetry/api';
import { NodeSDK, tracing } from '@opentelemetry/sdk-node';
import { defined } from '../collections/defined';
import {
  type HistogramMetric,
  type Labels,
  type Metric,
  type MetricInfo,
  type Metrics,
  type ReadMetric,
} from './metrics';
import { spanIdOf, type SpanSpec, traceIdOf } from './trace';

/**
 * Runs OpenTelemetry's SDK, configured by its own `OTEL_*` variables. Ingest decides which traces
 * are recorded, and the decision travels with each message, so the sampler here records every span.
 * Ids are assigned earlier, not by the SDK.
 */

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

export interface Sdk {
  /** Exports these metrics, present and future. @param labels labels of all series */
  export(metrics: Metrics, labels: Labels): void;
  record(span: SpanSpec): void;
  /** Sends the remaining data. */
  stop(): Promise<void>;
}

export function startSdk(): Sdk {
  let next: SpanSpec | undefined;
  const idGenerator = {
    generateTraceId: () => traceIdOf(next?.context ?? ''),
    generateSpanId: () => spanIdOf(next?.context ?? ''),
  };
  // No context manager: parents are passed explicitly, so that no promise of the process has to
  // carry one.
  const sdk = new NodeSDK({
    idGenerator,
    sampler: new tracing.AlwaysOnSampler(),
    contextManager: null as never,
  });
  sdk.start();

  const tracer = trace.getTracer('waypost');
  const record = (spec: SpanSpec) => {
    next = spec;
    const parent =
      spec.parent === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, contextOf(spec.parent));
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
  };
  return { export: observeMetrics, record, stop: () => sdk.shutdown() };
}

function contextOf(traceparent: string): SpanContext {
  return {
    traceId: traceIdOf(traceparent),
    spanId: spanIdOf(traceparent),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  };
}

/** A larger drift means that the clock was set or the machine slept. */
const MOST_DRIFT_MS = 10;
let offsetMs = performance.timeOrigin;

/** Converts a time of `performance.now()` to ms since 1970, finer than the machine's clock. */
function epochMs(moment: number): number {
  const before = performance.now();
  const drift = Date.now() - (offsetMs + before);
  // If the process was suspended between the two readings, they cannot be compared.
  const together = performance.now() - before < 1;
  if (together && Math.abs(drift) > MOST_DRIFT_MS) offsetMs += drift;
  return offsetMs + moment;
}

/**
 * Registers Waypost's metrics as instruments of the SDK. The SDK reads counters and gauges when it
 * exports; it has no observable histogram, so each value is also recorded in the SDK's own.
 * (Without a metric reader this does nothing.)
 */
function observeMetrics(metrics: Metrics, always: Labels): void {
  const meter = api.getMeter('waypost');
  metrics.each((metric: Metric) => {
    if (metric.kind === 'histogram') forward(meter, metric, always);
    else observe(meter, metric, { metrics, always });
  });
}

function observe(meter: Meter, metric: ReadMetric, of: { metrics: Metrics; always: Labels }): void {
  const { name } = metric.info;
  const options = optionsOf(metric.info);
  const instrument: Observable =
    metric.kind === 'counter'
      ? meter.createObservableCounter(name, options)
      : meter.createObservableGauge(name, options);
  instrument.addCallback(async (result) => {
    await of.metrics.refresh();
    for (const { labels, value } of metric.read()) {
      result.observe(value, { ...labels, ...of.always });
    }
  });
}

function forward(meter: Meter, metric: HistogramMetric, always: Labels): void {
  const advice = { explicitBucketBoundaries: [...metric.bounds] };
  const histogram = meter.createHistogram(metric.info.name, { ...optionsOf(metric.info), advice });
  metric.tee = (value, labels) => histogram.record(value, { ...labels, ...always });
}

function optionsOf({ help: description, unit }: MetricInfo) {
  return {
    description,
    ...defined({ unit }),
  };
}
