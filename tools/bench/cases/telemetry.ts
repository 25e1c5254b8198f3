import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { sampleRoots } from '../../../shared/telemetry/trace';
import { measureDelivery } from './delivery';
import { type TelemetryFigure } from '../report/figures';
import { type Progress } from '../progress';
import { type Bench } from '../setup';

/**
 * The cost of telemetry for the delivery service: it empties the same topic without telemetry, and with one message
 * in twenty traced, metrics exported by OTLP, and all of it scraped. The runs alternate, each twice, because the
 * machine's speed may change within minutes.
 */

/** The fraction of messages that are traced. */
const RATIO = 0.05;
const TURNS = [false, true, true, false];

export async function measureTelemetry(
  bench: Bench,
  size: { warmUp: number; count: number },
  progress: Progress,
): Promise<TelemetryFigure> {
  const collector = await startCollector();
  const figure: TelemetryFigure = { ratio: RATIO, without: [], with: [], exports: 0, exportedBytes: 0 };
  try {
    for (const on of TURNS) {
      progress.note(on ? 'with' : 'without');
      sampleRoots(RATIO);
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRIC_EXPORT_INTERVAL: '5000' };
      figure[on ? 'with' : 'without'].push(await measureDelivery(bench, size, on ? { env, scraped: true } : {}));
    }
  } finally {
    sampleRoots(1);
    collector.server.close();
  }
  return { ...figure, exports: collector.taken.requests, exportedBytes: collector.taken.bytes };
}

/** Accepts exports and counts them. */
async function startCollector(): Promise<{ server: Server; url: string; taken: { requests: number; bytes: number } }> {
  const taken = { requests: 0, bytes: 0 };
  const server = createServer((req, res) => {
    req.on('data', (chunk: Buffer) => (taken.bytes += chunk.length));
    req.on('end', () => {
      taken.requests++;
      res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, taken, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` };
}
