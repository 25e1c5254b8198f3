import { metrics, only } from '../../../shared/telemetry/metrics';
import {
  childTraceparent,
  isTraced,
  newTraceparent,
  recordSpan,
} from '../../../shared/telemetry/trace';
import {
  isSdkWanted,
  loadSdk,
  sampledRatio,
  startTelemetry,
} from '../../../shared/telemetry/start';
import { type Json } from '../../../tools/harness/api';

/**
 * The SDK by the OTEL_* variables. test/e2e/telemetry.test.ts checks the data that it sends over
 * the network.
 */

const before = { ...process.env };
afterAll(() => {
  process.env = before;
});

test('without OTEL_* variables no SDK is loaded, and no trace is recorded', () => {
  startTelemetry('ingest', { sdk: loadSdk('waypost-ingest'), isShared: false });
  expect(isTraced(newTraceparent())).toBe(false);
  expect(loaded()).toBe(false);
});

function loaded(): boolean {
  return Object.keys(require.cache).some((name) => name.includes('@opentelemetry'));
}

test('the SDK exports spans with ids, times, parents and links, and metric values', async () => {
  // The console exporters have all recorded data once telemetry has stopped.
  const told: Json[] = [];
  jest.spyOn(console, 'dir').mockImplementation((each) => void told.push(each));
  Object.assign(process.env, {
    OTEL_TRACES_EXPORTER: 'console',
    OTEL_METRICS_EXPORTER: 'console',
    OTEL_NODE_RESOURCE_DETECTORS: 'env',
    OTEL_TRACES_SAMPLER: 'always_off',
  });
  const sdk = loadSdk('waypost-delivery');
  startTelemetry('delivery', { sdk, isShared: false });
  expect(loaded()).toBe(true);
  const unsampled = newTraceparent();
  expect([unsampled.slice(-2), isTraced(unsampled)]).toEqual(['00', false]);
  const root = `${unsampled.slice(0, -1)}1`;
  const child = childTraceparent(root);
  const now = performance.now();
  const times = { startedAt: now - 250, endedAt: now };
  const wall = Date.now();
  recordSpan({
    ...times,
    name: 'a root',
    kind: 'producer',
    context: root,
    attributes: { a: 1, b: 'x', c: undefined },
  });
  const links = [{ context: unsampled, as: 'previous' }] as const;
  const failed = { error: '503', links, parent: root };
  recordSpan({
    ...times,
    ...failed,
    name: 'a child',
    kind: 'client',
    context: child,
    attributes: {},
  });
  recordSpan({ ...times, name: 'not sampled', kind: 'client', context: unsampled, attributes: {} });
  metrics.gauge({ name: 'waypost.later', help: 'Made after the start.' }, () => only(3));
  metrics
    .histogram({ name: 'waypost.waits', help: 'Waits.', unit: 's' }, [1, 2])
    .of({ tier: '1s' })
    .record(1.5);
  await sdk?.stop();

  const [, traceId, rootId] = root.split('-');
  const spans = told.filter((each) => each.traceId !== undefined);
  expect(spans.map(({ name, kind, traceId: of }) => [name, kind, of])).toEqual([
    ['a root', 3, traceId],
    ['a child', 2, traceId],
  ]);
  const [first, second] = spans;
  expect(first).toMatchObject({
    id: rootId,
    parentSpanContext: undefined,
    attributes: { a: 1, b: 'x' },
    links: [],
  });
  expect(first.resource.attributes['service.name']).toBe('waypost-delivery');
  expect(second).toMatchObject({
    id: child.split('-')[2],
    status: { code: 2 },
    attributes: { 'error.type': '503' },
  });
  expect(second.parentSpanContext.spanId).toBe(rootId);
  expect(second.links).toMatchObject([
    { context: { traceId, spanId: rootId }, attributes: { 'waypost.link': 'previous' } },
  ]);
  for (const { timestamp, duration } of spans) {
    expect(duration / 1_000).toBeCloseTo(250, 1);
    expect(Math.abs((Number(timestamp) + Number(duration)) / 1_000 - wall)).toBeLessThan(1_000);
  }
  const metric = (name: string) =>
    told.find((each) => each.descriptor?.name === name)?.dataPoints[0];
  expect(metric('waypost.later')).toMatchObject({ value: 3 });
  expect(metric('waypost.waits')).toMatchObject({
    attributes: { tier: '1s' },
    value: { sum: 1.5, buckets: { boundaries: [1, 2], counts: [0, 1, 0] } },
  });
  expect(metric('process.cpu.time')).toMatchObject({ value: expect.any(Number) });
});

test.each([
  [{}, false],
  [{ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, false],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
  [{ OTEL_TRACES_EXPORTER: 'console' }, true],
  [{ OTEL_METRICS_EXPORTER: 'prometheus' }, true],
  [{ OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'TRUE' }, false],
])('whether the environment %j asks for the SDK: %j', (env, wanted) =>
  expect(isSdkWanted(env)).toBe(wanted),
);

test.each([
  [{}, 1],
  [{ OTEL_TRACES_SAMPLER: 'always_on' }, 1],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: '0.1' }, 1],
  [{ OTEL_TRACES_SAMPLER: 'always_off' }, 0],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, 0],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.05' }, 0.05],
  [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 0],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio' }, 1],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '5%' }, 1],
  [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' }, 1],
  [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, 1],
  [{ OTEL_TRACES_EXPORTER: 'none' }, 0],
])('with the environment %j this share of new traces is recorded: %d', (env, ratio) =>
  expect(sampledRatio(env)).toBe(ratio),
);
