import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { eventually } from '../../test/support/eventually';
import { type Json } from './api';

/**
 * An OpenTelemetry collector: accepts OTLP over HTTP in its JSON encoding, and stores everything.
 */
export interface Collector {
  /** for OTEL_EXPORTER_OTLP_ENDPOINT */
  url: string;
  spans(): CollectedSpan[];
  /** names of metrics by service */
  metrics(): Map<string, Set<string>>;
  /** Resolves with the spans of a trace once there are this many. */
  trace(traceId: string, spans: number): Promise<CollectedSpan[]>;
  /** all bodies, unchanged */
  text(): string;
  close(): Promise<void>;
}

export interface CollectedSpan {
  service: string;
  name: string;
  kind: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  /** ms since 1970 */
  start: number;
  end: number;
  attributes: Record<string, string | number | boolean>;
  links: { traceId: string; spanId: string; as: string }[];
  failed: boolean;
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
const STATUS_ERROR = 2;

type Value = {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
};
type Attributes = { key: string; value: Value }[] | undefined;

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const metrics = new Map<string, Set<string>>();
  let text = '';
  const take = (path: string, body: Json) => {
    for (const { resource, scopeSpans } of path === '/v1/traces' ? body.resourceSpans : []) {
      const service = String(plain(resource.attributes)['service.name']);
      for (const scope of scopeSpans) {
        spans.push(...scope.spans.map((span: Json) => collected(service, span)));
      }
    }
    for (const { resource, scopeMetrics } of path === '/v1/metrics' ? body.resourceMetrics : []) {
      const service = String(plain(resource.attributes)['service.name']);
      const names = metrics.get(service) ?? new Set<string>();
      metrics.set(service, names);
      for (const scope of scopeMetrics) for (const { name } of scope.metrics) names.add(name);
    }
  };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      text += body;
      take(req.url ?? '', JSON.parse(body));
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ofTrace = (traceId: string) => spans.filter((span) => span.traceId === traceId);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => spans,
    metrics: () => metrics,
    trace: (traceId, count) =>
      eventually(() => {
        const found = ofTrace(traceId);
        if (found.length < count) {
          throw new Error(`of ${count} spans came ${found.map(({ name }) => name).join(', ')}`);
        }
        return Promise.resolve(found);
      }),
    text: () => text,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function collected(service: string, span: Json): CollectedSpan {
  return {
    service,
    name: span.name,
    kind: KINDS[span.kind] ?? '?',
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    start: Number(span.startTimeUnixNano) / 1e6,
    end: Number(span.endTimeUnixNano) / 1e6,
    attributes: plain(span.attributes),
    links: (span.links ?? []).map((link: Json) => ({
      traceId: link.traceId,
      spanId: link.spanId,
      as: String(plain(link.attributes)['waypost.link']),
    })),
    failed: span.status?.code === STATUS_ERROR,
  };
}

function plain(attributes: Attributes): Record<string, string | number | boolean> {
  const value = ({ stringValue, intValue, doubleValue, boolValue }: Value) =>
    stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue ?? '') : Number(intValue));
  return Object.fromEntries((attributes ?? []).map(({ key, value: held }) => [key, value(held)]));
}
