import { metrics as api, type Meter, type Observable } from '@opentelemetry/api';
import { type HistogramMetric, type Metric, type MetricInfo, type Metrics, type ReadMetric } from './metrics';

/**
 * Registers Waypost's metrics as instruments of the SDK. The SDK reads counters and gauges when it exports; it has no
 * observable histogram, so each value is also recorded in the SDK's own. (Without a metric reader this does nothing.)
 */

export function observeMetrics(metrics: Metrics): void {
  const meter = api.getMeter('waypost');
  metrics.each((metric: Metric) => {
    if (metric.kind === 'histogram') tell(meter, metric);
    else observe(meter, metric, metrics);
  });
}

function observe(meter: Meter, metric: ReadMetric, metrics: Metrics): void {
  const { name } = metric.info;
  const options = optionsOf(metric.info);
  const instrument: Observable =
    metric.kind === 'counter'
      ? meter.createObservableCounter(name, options)
      : meter.createObservableGauge(name, options);
  instrument.addCallback(async (result) => {
    await metrics.refresh();
    for (const { labels, value } of metric.read()) result.observe(value, labels);
  });
}

function tell(meter: Meter, metric: HistogramMetric): void {
  const advice = { explicitBucketBoundaries: [...metric.bounds] };
  const histogram = meter.createHistogram(metric.info.name, { ...optionsOf(metric.info), advice });
  metric.tee = histogram.record.bind(histogram);
}

function optionsOf({ help: description, unit }: MetricInfo) {
  return { description, ...(unit === undefined ? {} : { unit }) };
}
