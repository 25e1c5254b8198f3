import { metrics as api, type Meter, type Observable } from '@opentelemetry/api';
import { type HistogramMetric, type Metric, type MetricInfo, type Metrics, type ReadMetric } from './metrics';

/**
 * Our metrics as instruments of the SDK. Counters and gauges are read when the SDK exports; it has no histograms that can be
 * read, so that each value of ours is told to its own as well. (Without a reader for metrics all of this does nothing.)
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
