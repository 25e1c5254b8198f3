import { measureProcess } from '../../shared/telemetry/start';
import { type Metric, metrics, type MetricInfo } from '../../shared/telemetry/metrics';
import { prometheusName } from '../../shared/telemetry/prometheus';
import { markdownTable } from '../harness/table';

/** Returns the tables of docs/reference/metrics.md from the metrics that the services declare. */

/** A service reads this only when Prometheus scrapes it: the tables need only the names. */
const unread = {} as never;

/**
 * Metrics of modules that every service loads, by name: another part of the reference may have
 * loaded them already.
 */
const SHARED: Readonly<Record<string, RegExp>> = {
  'Kafka, in every service': /^(messaging|waypost\.(producer|consumer|log|clock|config))\./,
  'The process, in every service': /^((nodejs|process|v8js)\.|waypost\.info$)/,
};

/** The other metrics belong to the service that declares them first. */
const SERVICES: readonly [title: string, declare: () => Promise<unknown>][] = [
  [
    'Ingest',
    async () => {
      const { observeServer } = await import('../../shared/telemetry/http-server');
      observeServer();
      await import('../../services/ingest/telemetry');
      await import('../../services/ingest/unrecorded-counts');
      await import('../../services/ingest/store-messages');
    },
  ],
  [
    'Router',
    async () => {
      const { observeRouter } = await import('../../services/router/telemetry');
      observeRouter(unread, unread);
    },
  ],
  [
    'Delivery',
    async () => {
      const { observeDelivery } = await import('../../services/delivery/telemetry/metrics');
      observeDelivery(unread);
    },
  ],
  ['Retry', () => import('../../services/retry/telemetry')],
  [
    'Audiences',
    async () => {
      const { observeAudiences } = await import('../../services/audiences/telemetry');
      observeAudiences(unread);
    },
  ],
  [
    'Control',
    async () => {
      const { observeAlerts, observeReaders } = await import('../../services/control/telemetry');
      observeAlerts(unread);
      observeReaders(unread, unread);
    },
  ],
];

export async function metricsTables(): Promise<string> {
  return [...(await declaredMetrics())]
    .map(([title, list]) => `### ${title}\n\n${rowsOf(list)}`)
    .join('\n\n');
}

/** One line for each set of histogram buckets. */
export async function bucketLines(): Promise<string> {
  const byBounds = new Map<string, string[]>();
  for (const metric of [...(await declaredMetrics()).values()].flat()) {
    if (metric.kind !== 'histogram') continue;
    const bounds = metric.bounds.join(' ');
    byBounds.set(bounds, [
      ...(byBounds.get(bounds) ?? []),
      `\`${prometheusName(metric.info, metric.kind)}\``,
    ]);
  }
  return markdownTable([
    ['histogram', 'buckets, in seconds'],
    ...[...byBounds].map(([bounds, names]) => [names.join(', '), bounds]),
  ]);
}

let declared: Promise<Map<string, Metric[]>> | undefined;
function declaredMetrics(): Promise<Map<string, Metric[]>> {
  return (declared ??= declareAll());
}

async function declareAll(): Promise<Map<string, Metric[]>> {
  await import('../../shared/kafka/metrics');
  await import('../../shared/kafka/broker-clock');
  await import('../../shared/config/reader');
  measureProcess(metrics);
  const sections = new Map<string, Metric[]>();
  for (const [title, declare] of SERVICES) {
    const before = new Set(metrics.all());
    await declare();
    sections.set(
      title,
      metrics.all().filter((metric) => !before.has(metric) && sharedBy(metric) === undefined),
    );
  }
  sections.get('Retry')?.push(...metrics.all().filter(isOverdue));
  for (const title of Object.keys(SHARED)) {
    sections.set(
      title,
      metrics.all().filter((metric) => sharedBy(metric) === title),
    );
  }
  return sections;
}

function sharedBy({ info }: Metric): string | undefined {
  return Object.entries(SHARED).find(([, names]) => names.test(info.name))?.[0];
}

/** The reader of the tiers measures it, but it describes retry. */
function isOverdue({ info }: Metric): boolean {
  return info.name === 'waypost.retry.overdue';
}

function rowsOf(list: readonly Metric[]): string {
  const rows = list.map(({ info, kind }) => [
    `\`${prometheusName(info, kind)}\``,
    `\`${info.name}\``,
    kind,
    labelsOf(info),
    info.help,
  ]);
  return markdownTable([['metric', 'OTLP', 'type', 'labels', 'meaning'], ...rows]);
}

function labelsOf({ labels = {} }: MetricInfo): string {
  return Object.entries(labels)
    .map(([name, values]) => `\`${name.replace(/\W/g, '_')}\` (${values})`)
    .join(', ');
}
