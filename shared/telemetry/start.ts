import type { Sdk, startSdk } from './otel-sdk';
import { metrics, type Metrics, only } from './metrics';
import { sampleRoots, writeSpansBy } from './trace';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';
import { ROOT } from '../runtime/repo-root';

/**
 * Starts telemetry. Without `OTEL_*` variables the SDK is not loaded: it costs 30 MB and a quarter
 * of a second.
 */

export type { Sdk };

/** A process, as far as the telemetry of its services goes. */
interface Hosting {
  readonly sdk: Sdk | undefined;
  /** several services share the process, and so its SDK */
  readonly isShared: boolean;
}

/** Starts the telemetry of a service. @param service as in `waypost-<service>` */
export function startTelemetry(service: string, { sdk, isShared }: Hosting): void {
  metrics.service = service;
  measureProcess(metrics);
  if (!sdk) return;
  sampleRoots(sampledRatio(process.env));
  const labels = isShared ? { service } : {};
  sdk.export(metrics, labels);
  writeSpansBy((span) =>
    sdk.record(isShared ? { ...span, attributes: { ...span.attributes, ...labels } } : span),
  );
}

/**
 * Loads the SDK if the environment asks for it.
 * @param name the service name of all that the process exports, unless the environment has another
 *   one
 */
export function loadSdk(name: string): Sdk | undefined {
  if (!isSdkWanted(process.env)) return undefined;
  // Defaults beside the environment.
  process.env.OTEL_SERVICE_NAME ??= name;
  // Logs go to stdout. The process's arguments and its user are not exported.
  process.env.OTEL_LOGS_EXPORTER ??= 'none';
  process.env.OTEL_NODE_RESOURCE_DETECTORS ??= 'env,host,serviceinstance';
  // Spans of many messages end at the same time: the SDK's 2,048 would be too few for a thousand
  // messages a second.
  process.env.OTEL_BSP_MAX_QUEUE_SIZE ??= '16384';
  // Not `import`, which would always load it.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return (require('./otel-sdk') as { startSdk: typeof startSdk }).startSdk();
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns whether the environment asks for the SDK by naming an exporter or an endpoint. (By
 * default the SDK would export to this machine's port 4318 unasked.)
 */
export function isSdkWanted(env: Env): boolean {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return false;
  const wanted = Object.entries(env).filter(([, value]) => value?.trim());
  return wanted.some(
    ([name, value]) =>
      /^OTEL_EXPORTER_\w+_ENDPOINT$/.test(name) ||
      (/^OTEL_(TRACES|METRICS|LOGS)_EXPORTER$/.test(name) && value?.trim() !== 'none'),
  );
}

/**
 * Returns the recorded share of new traces, 0 to 1, by OTEL_TRACES_SAMPLER and its argument.
 * Parents do not count, because Waypost starts every trace. Unknown values mean all, as in the SDK.
 */
export function sampledRatio(env: Env): number {
  if (env.OTEL_TRACES_EXPORTER?.trim() === 'none') return 0;
  switch (env.OTEL_TRACES_SAMPLER?.trim() ?? '') {
    case 'always_off':
    case 'parentbased_always_off':
      return 0;
    case 'traceidratio':
    case 'parentbased_traceidratio': {
      const text = env.OTEL_TRACES_SAMPLER_ARG?.trim();
      const ratio = text ? Number(text) : 1;
      return ratio >= 0 && ratio <= 1 ? ratio : 1;
    }
    default:
      return 1;
  }
}

/** Metrics of the process: event loop, CPU, memory, uptime and version. */

/**
 * The timer of the monitor wakes an idle process: at 20 ms it took a tenth of the CPU of an idle
 * service.
 */
const DELAY_RESOLUTION_MS = 50;
const NS_PER_S = 1e9;
const US_PER_S = 1e6;

export function measureProcess(metrics: Metrics): void {
  measureEventLoop(metrics);
  const cpu = {
    name: 'process.cpu.time',
    help: 'CPU time of the process.',
    unit: 's',
    labels: { 'cpu.mode': '`user`, `system`' },
  } as const;
  metrics.counted(cpu, () => {
    const { user, system } = process.cpuUsage();
    return [
      { labels: { 'cpu.mode': 'user' }, value: user / US_PER_S },
      { labels: { 'cpu.mode': 'system' }, value: system / US_PER_S },
    ];
  });
  metrics.gauge(
    { name: 'process.memory.usage', help: 'Resident memory of the process.', unit: 'By' },
    () => only(process.memoryUsage.rss()),
  );
  metrics.gauge({ name: 'v8js.memory.heap.used', help: 'Heap in use.', unit: 'By' }, () =>
    only(process.memoryUsage().heapUsed),
  );
  metrics.gauge(
    { name: 'process.uptime', help: 'Time since the process started.', unit: 's' },
    () => only(process.uptime()),
  );
  const version = versionOf();
  const info = {
    name: 'waypost.info',
    help: 'Always 1.',
    labels: { version: 'the version of Waypost' },
  };
  metrics.gauge(info, () => [{ labels: { version }, value: 1 }]);
}

/** Longer than readers of metrics pause. */
const UNREAD_MS = 120_000;

function measureEventLoop(metrics: Metrics): void {
  // Its timer would wake an idle process twenty times a second for nobody.
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  let unread: NodeJS.Timeout | undefined;
  let last: EventLoopUtilization | undefined;
  let read = { p50: 0, p99: 0, max: 0, utilization: 0 };
  metrics.beforeReading(() => {
    // The monitor measures the interval of a timer, the resolution included.
    const seconds = (ns: number) =>
      Number.isFinite(ns) ? Math.max(0, ns / NS_PER_S - DELAY_RESOLUTION_MS / 1_000) : 0;
    const now = performance.eventLoopUtilization();
    const { utilization } = last ? performance.eventLoopUtilization(now, last) : now;
    last = now;
    read = {
      p50: seconds(delay.percentile(50)),
      p99: seconds(delay.percentile(99)),
      max: seconds(delay.max),
      utilization,
    };
    delay.reset();
    delay.enable();
    clearTimeout(unread);
    unread = setTimeout(() => delay.disable(), UNREAD_MS).unref();
    return Promise.resolve();
  });
  for (const name of ['p50', 'p99', 'max'] as const) {
    const help = `Delay of timers since the last scrape, if it was at most two minutes ago: ${name}.`;
    metrics.gauge({ name: `nodejs.eventloop.delay.${name}`, help, unit: 's' }, () =>
      only(read[name]),
    );
  }
  const help = 'Share of time that the event loop was busy since the last scrape, 0 to 1.';
  metrics.gauge({ name: 'nodejs.eventloop.utilization', help, unit: '1' }, () =>
    only(read.utilization),
  );
}

function versionOf(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
