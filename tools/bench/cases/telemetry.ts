import { sampleRoots } from '../../../shared/telemetry/trace';
import { startCollector } from '../../harness/collector';
import { type Progress } from '../progress';
import { type TelemetryFigure } from '../report/figures';
import { type Bench } from '../setup';
import { measureDelivery } from './delivery';

/**
 * The cost of telemetry for the delivery service: it empties the same topic without telemetry, and
 * with one message in twenty traced, metrics exported by OTLP, and all of it scraped. The runs
 * alternate, each twice, because the machine's speed may change within minutes.
 */

/** The fraction of messages that are traced. */
const RATIO = 0.05;
const TURNS = [false, true, true, false];

export async function measureTelemetry(
  bench: Bench,
  size: { warmUp: number; count: number },
  progress: Progress,
): Promise<TelemetryFigure> {
  const collector = await startCollector({ discard: true });
  const figure: TelemetryFigure = {
    ratio: RATIO,
    without: [],
    with: [],
    exports: 0,
    exportedBytes: 0,
  };
  try {
    for (const on of TURNS) {
      progress.note(on ? 'with' : 'without');
      sampleRoots(RATIO);
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_METRIC_EXPORT_INTERVAL: '5000',
      };
      figure[on ? 'with' : 'without'].push(
        await measureDelivery(bench, size, on ? { env, scraped: true } : {}),
      );
    }
  } finally {
    sampleRoots(1);
    await collector.close();
  }
  return {
    ...figure,
    exports: collector.received.requests,
    exportedBytes: collector.received.bytes,
  };
}
