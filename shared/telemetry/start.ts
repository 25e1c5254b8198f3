import { withTimeout } from '../service/async';
import { isSdkWanted, sampledRatio } from './otel-env';
import { metrics } from './metrics';
import { measureProcess } from './process';
import type * as Sdk from './otel-sdk';
import { sampleRoots } from './trace';

/**
 * The first thing that a service does: to be imported before all else, so that the SDK is there before what it may want to
 * look into. Where `OTEL_*` asks for nothing, the SDK is not even loaded: it costs 30 MB and a quarter of a second.
 */

let shutdown: (() => Promise<void>) | undefined;

/** @param service as in `waypost-<service>` */
export function startTelemetry(service: string): void {
  metrics.service = service;
  measureProcess(metrics);
  if (!isSdkWanted(process.env)) return;
  // Beside what the environment says.
  process.env.OTEL_SERVICE_NAME ??= `waypost-${service}`;
  // Logs go to stdout. And of the process no arguments, nor who runs it.
  process.env.OTEL_LOGS_EXPORTER ??= 'none';
  process.env.OTEL_NODE_RESOURCE_DETECTORS ??= 'env,host,serviceinstance';
  // Spans of many messages end in the same moment: the SDK's 2,048 would be too few for a thousand a second.
  process.env.OTEL_BSP_MAX_QUEUE_SIZE ??= '16384';
  sampleRoots(sampledRatio(process.env));
  // Not `import`, which would load it always or too late.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { startSdk } = require('./otel-sdk') as typeof Sdk;
  shutdown = startSdk(metrics);
}

/** Sends what is left, and waits at most `deadlineMs`. Never rejects. */
export async function stopTelemetry(deadlineMs: number): Promise<void> {
  if (!shutdown) return;
  // A collector that is away must not make an orderly end a failed one.
  await withTimeout(
    deadlineMs,
    shutdown().catch(() => undefined),
  );
}
