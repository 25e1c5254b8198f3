import { withTimeout } from '../service/async';
import { metrics } from './metrics';
import { measureProcess } from './process';
import type * as Sdk from './otel-sdk';
import { sampleRoots } from './trace';

/**
 * Starts telemetry. Without `OTEL_*` variables the SDK is not loaded: it costs 30 MB and a quarter of a second.
 */

let shutdown: (() => Promise<void>) | undefined;

/** @param service as in `waypost-<service>` */
export function startTelemetry(service: string): void {
  metrics.service = service;
  measureProcess(metrics);
  if (!isSdkWanted(process.env)) return;
  // Defaults beside the environment.
  process.env.OTEL_SERVICE_NAME ??= `waypost-${service}`;
  // Logs go to stdout. The process's arguments and its user are not exported.
  process.env.OTEL_LOGS_EXPORTER ??= 'none';
  process.env.OTEL_NODE_RESOURCE_DETECTORS ??= 'env,host,serviceinstance';
  // Spans of many messages end at the same time: the SDK's 2,048 would be too few for a thousand messages a second.
  process.env.OTEL_BSP_MAX_QUEUE_SIZE ??= '16384';
  sampleRoots(sampledRatio(process.env));
  // Not `import`, which would always load it.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { startSdk } = require('./otel-sdk') as typeof Sdk;
  shutdown = startSdk(metrics);
}

/** Sends the remaining data, waiting at most `deadlineMs`. Never rejects. */
export async function stopTelemetry(deadlineMs: number): Promise<void> {
  if (!shutdown) return;
  // An unreachable collector must not turn a graceful stop into a failure.
  await withTimeout(
    deadlineMs,
    shutdown().catch(() => undefined),
  );
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns whether the environment asks for the SDK by naming an exporter or an endpoint. (By default the SDK would export to
 * this machine's port 4318 unasked.)
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
 * Returns the recorded share of new traces, 0 to 1, by OTEL_TRACES_SAMPLER and its argument. Parents do not count, because
 * Waypost starts every trace. Unknown values mean all, as in the SDK.
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
