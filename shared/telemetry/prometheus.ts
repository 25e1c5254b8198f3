import {
  type Distribution,
  type Labels,
  type Metric,
  type MetricInfo,
  type Metrics,
} from './metrics';

/**
 * Renders metrics for Prometheus: text format 0.0.4, names by OpenTelemetry's rules for Prometheus.
 */

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export async function renderMetrics(metrics: Metrics): Promise<string> {
  await metrics.refresh();
  const always = metrics.service === '' ? {} : { service: metrics.service };
  return metrics
    .all()
    .map((metric) => renderMetric(metric, always))
    .join('');
}

const UNITS = { s: '_seconds', By: '_bytes', '1': '_ratio' } as const;

/** `http.server.request.duration` in seconds → `http_server_request_duration_seconds`. */
export function prometheusName({ name, unit }: MetricInfo, kind: Metric['kind']): string {
  return (
    plain(name) + (unit === undefined ? '' : UNITS[unit]) + (kind === 'counter' ? '_total' : '')
  );
}

function renderMetric(metric: Metric, always: Labels): string {
  const { info, kind } = metric;
  const name = prometheusName(info, kind);
  const lines = [`# HELP ${name} ${info.help}`, `# TYPE ${name} ${kind}`];
  if (metric.kind === 'histogram') {
    for (const series of metric.read()) lines.push(...histogramLines(name, series, always));
  } else {
    for (const { labels, value } of metric.read()) {
      lines.push(`${name}${braces({ ...always, ...labels })} ${String(value)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function histogramLines(name: string, series: Distribution, always: Labels): string[] {
  const labels = { ...always, ...series.labels };
  let count = 0;
  const buckets = series.counts.map((each, i) => {
    count += each;
    const bound = series.bounds[i];
    const le = bound === undefined ? '+Inf' : String(bound);
    return `${name}_bucket${braces({ ...labels, le })} ${String(count)}`;
  });
  return [
    ...buckets,
    `${name}_sum${braces(labels)} ${String(series.sum)}`,
    `${name}_count${braces(labels)} ${count}`,
  ];
}

function braces(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${plain(name)}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function plain(name: string): string {
  return name.replace(/\W/g, '_');
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
}
