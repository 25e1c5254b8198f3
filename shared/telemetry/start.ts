import { withTimeout } from '../service/async';
import { isSdkWanted, sampledRatio } from './otel-env';
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
