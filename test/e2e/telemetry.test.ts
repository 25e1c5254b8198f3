import { readFileSync } from 'node:fs';
import { type CollectedSpan, type Collector, startCollector } from '../../tools/harness/collector';
import { SERVICES } from '../../bin/service-list';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { healthPortOf } from '../support/service';
import { openStorySystem, type StorySystem } from '../support/story-system';

/**
 * Telemetry of messages: one trace each across all services, metrics of every service, and no
 * secret anywhere.
 */

const CALLERS = '00-11111111111111111111111111111111-2222222222222222-01';
const SECRET_PATH = 'a-token-in-the-path';
const SECRET_HEADER = 'a-token-in-a-header';

let collector: Collector;
let stage: StorySystem;
beforeAll(async () => {
  collector = await startCollector();
  stage = await openStorySystem({
    env: {
      WAYPOST_RETRY_DELAYS: '200ms,400ms',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    },
  });
});
afterAll(async () => {
  await stage.close();
  await collector.close();
});

const traceIdOf = (traceparent: string | undefined) => traceparent!.split('-')[1]!;
const spanIdOf = (traceparent: string | undefined) => traceparent!.split('-')[2]!;

/**
 * Returns a trace as a tree of `service KIND name`, with the children of each span in the order of
 * their start.
 */
function treeOf(spans: CollectedSpan[], parent?: string): unknown[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  return spans
    .filter(({ parentSpanId: of }) =>
      parent === undefined ? !of || !known.has(of) : of === parent,
    )
    .sort((a, b) => a.start - b.start)
    .flatMap((span) => {
      const children = treeOf(spans, span.spanId);
      const line = `${span.service.replace('waypost-', '')} ${span.kind} ${span.name}`;
      return children.length > 0 ? [line, children] : [line];
    });
}

async function connect(path: string) {
  const headers = { 'x-key': SECRET_HEADER };
  return stage.connect({
    webhooks: [{ url: stage.sink.url(`${path}/${SECRET_PATH}?key=${SECRET_PATH}`), headers }],
  });
}

test('a call with two retries is one trace to the last POST, linked to the caller', async () => {
  const { sink, system } = stage;
  sink.on(`/traced/${SECRET_PATH}`, [{ status: 503 }, { status: 500 }, {}]);
  const { source, destination } = await connect('/traced');
  const call = aTrack();
  const authorization = `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}`;
  await fetch(`${system.ingestUrl}/v1/track`, {
    method: 'POST',
    headers: { authorization, traceparent: CALLERS },
    body: JSON.stringify(call),
  });
  const posts = await sink.waitFor(3, { path: `/traced/${SECRET_PATH}` });
  const traceId = traceIdOf(posts[0]!.headers.traceparent);
  const spans = await collector.trace(traceId, 16);

  const attempt = (topic: string, to: string) => [
    `delivery CONSUMER process ${topic}`,
    ['delivery CLIENT POST', `delivery PRODUCER send ${to}`],
  ];
  const wait = (tier: string) => [
    `retry CONSUMER process webhooks.retry.${tier}`,
    ['retry PRODUCER send webhooks.due'],
  ];
  expect(treeOf(spans)).toEqual([
    'ingest SERVER POST /v1/track',
    [
      'ingest PRODUCER send messages',
      [
        'router CONSUMER process messages',
        ['router PRODUCER send webhooks'],
        ...attempt('webhooks', 'webhooks.retry.200ms'),
        ...wait('200ms'),
        ...attempt('webhooks.due', 'webhooks.retry.400ms'),
        ...wait('400ms'),
        'delivery CONSUMER process webhooks.due',
        ['delivery CLIENT POST'],
      ],
    ],
  ]);

  const named = (name: string) =>
    spans.filter((span) => span.name === name).sort((a, b) => a.start - b.start);
  // The caller's trace is linked and does not determine this one.
  const [server] = named('POST /v1/track');
  expect(server!.links).toEqual([
    { traceId: '11111111111111111111111111111111', spanId: '2222222222222222', as: 'caller' },
  ]);
  expect(server!.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/track',
    'url.scheme': 'http',
    'http.response.status_code': 200,
  });
  expect(named('send messages')[0]!.attributes).toEqual({
    'messaging.system': 'kafka',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'messages',
    'messaging.message.id': call.messageId,
    'waypost.source.id': source.id,
  });

  const attempts = spans.filter(
    ({ name, service }) => service === 'waypost-delivery' && name.startsWith('process '),
  );
  attempts.sort((a, b) => a.start - b.start);
  expect(
    attempts.map(({ attributes: at, failed }) => [
      at['waypost.attempt'],
      at['waypost.outcome'],
      failed,
    ]),
  ).toEqual([
    [1, 'retried', true],
    [2, 'retried', true],
    [3, 'delivered', false],
  ]);
  expect(attempts[1]!.attributes).toMatchObject({
    'messaging.consumer.group.name': 'delivery',
    'messaging.destination.name': 'webhooks.due',
    'messaging.destination.partition.id': expect.stringMatching(/^\d+$/),
    'messaging.kafka.offset': expect.any(Number),
    'messaging.message.id': call.messageId,
    'waypost.delivery.id': posts[0]!.headers['webhook-id'],
    'waypost.destination.id': destination.id,
    'waypost.reason': 'backoff',
    'error.type': '500',
  });
  // Each step links to the previous attempt.
  const waits = [
    ...named('process webhooks.retry.200ms'),
    ...named('process webhooks.retry.400ms'),
  ];
  const previous = ([link]: CollectedSpan['links']) => [link?.as, link?.traceId, link?.spanId];
  expect(attempts[0]!.links).toEqual([]);
  for (const [i, later] of [waits, attempts.slice(1)].flat().entries()) {
    expect(previous(later.links)).toEqual(['previous', traceId, attempts[i % 2]!.spanId]);
  }
  for (const [i, tierMs] of [200, 400].entries()) {
    expect(waits[i]!.end - waits[i]!.start).toBeGreaterThanOrEqual(tierMs - 50);
  }
  // The receiver gets the span of its request.
  const clients = named('POST');
  expect(posts.map(({ headers }) => spanIdOf(headers.traceparent))).toEqual(
    clients.map(({ spanId }) => spanId),
  );
  expect(clients.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([
    503, 500, 200,
  ]);
  expect(Object.keys(clients[2]!.attributes).sort()).toEqual(
    [
      'http.request.method',
      'http.response.status_code',
      'server.address',
      'server.port',
      'waypost.webhook.id',
    ].sort(),
  );
});

test("a batch's trace links to its messages, and a replay's to the dead attempt", async () => {
  const { sink, system } = stage;
  const path = `/replayed/${SECRET_PATH}`;
  sink.on(path, { status: 422 });
  const { source, destination } = await connect('/replayed');
  await system.send(source.writeKey, 'batch', { batch: [aTrack(), aTrack()] });
  const [first] = await sink.waitFor(2, { path });
  await eventually(async () => {
    const { body } = await system.control(
      'GET',
      `/deliveries?destination=${destination.id}&status=dead`,
    );
    expect(body.data).toHaveLength(2);
  });
  sink.on(path, {});
  expect(
    (await system.control('POST', '/replays', { destination: destination.id })).status,
  ).toBeLessThan(300);
  await sink.waitFor(4, { path });

  const spans = await collector.trace(traceIdOf(first!.headers.traceparent), 8);
  expect(treeOf(spans)).toEqual([
    'ingest PRODUCER send messages',
    [
      'router CONSUMER process messages',
      ['router PRODUCER send webhooks'],
      'delivery CONSUMER process webhooks',
      ['delivery CLIENT POST', 'delivery PRODUCER send webhooks.dead'],
      'delivery CONSUMER process webhooks.due',
      ['delivery CLIENT POST'],
    ],
  ]);
  const [dead, replayed] = spans.filter(
    ({ attributes }) => attributes['waypost.attempt'] !== undefined,
  );
  expect(dead!.attributes).toMatchObject({
    'waypost.outcome': 'dead',
    'waypost.reason': 'rejected',
  });
  expect(replayed!.attributes).toMatchObject({
    'waypost.outcome': 'delivered',
    'waypost.replay': 1,
  });
  expect(replayed!.links).toEqual([
    { traceId: dead!.traceId, spanId: dead!.spanId, as: 'previous' },
  ]);

  const root = spans.find(({ name }) => name === 'send messages')!;
  const request = await eventually(() => {
    const found = collector.spans().find(({ spanId }) => spanId === root.links[0]?.spanId);
    if (!found) throw new Error('the span of the request was not exported');
    return found;
  });
  expect(root.links).toEqual([{ traceId: request.traceId, spanId: request.spanId, as: 'request' }]);
  expect(request).toMatchObject({
    name: 'POST /v1/batch',
    attributes: { 'messaging.batch.message_count': 2 },
  });
  expect(request.links.map(({ as }) => as)).toEqual(['message', 'message']);
});

test('/metrics and OTLP have exactly the metrics of docs/reference/metrics.md', async () => {
  const rows = readFileSync('docs/reference/metrics.md', 'utf8').matchAll(
    /^\| `(\w+)` +\| `([\w.]+)` +\|/gm,
  );
  const documented = [...rows].map(([, prometheus, otlp]) => ({
    prometheus: prometheus!,
    otlp: otlp!,
  }));
  expect(documented.length).toBeGreaterThan(40);
  const texts = await Promise.all(
    SERVICES.map(async (name) => {
      const port = healthPortOf(stage.system.env, name);
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
      return answer.text();
    }),
  );
  const all = texts.join('');
  const typed = new Set([...all.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!));
  expect([...typed].sort()).toEqual(
    [...new Set(documented.map(({ prometheus }) => prometheus))].sort(),
  );
  const value = (series: string) =>
    Number(new RegExp(`^${series.replace(/[{}.]/g, '\\$&')} (\\S+)$`, 'm').exec(all)![1]);
  expect(value('waypost_attempts_total{service="delivery",outcome="rejected"}')).toBe(2);
  expect(value('waypost_deliveries_retried_total{service="delivery",reason="backoff"}')).toBe(2);
  expect(value('waypost_deliveries_dead_total{service="delivery",reason="rejected"}')).toBe(2);
  expect(value('waypost_retries_returned_total{service="retry",tier="200ms"}')).toBe(1);
  expect(value('waypost_consumer_joined{service="router",group="router"}')).toBe(1);

  // Some counters have no value: no filter, body or condition failed, no audience existed, no
  // partition was blocked.
  const valued = documented.filter(({ prometheus }) =>
    new RegExp(`^${prometheus}(_bucket)?[{ ]`, 'm').test(all),
  );
  const silent = documented
    .filter((each) => !valued.includes(each))
    .map(({ prometheus }) => prometheus);
  const mayBeSilent = [
    'filters_failed',
    'deliveries_unrendered',
    'conditions_failed',
    'profiles_messages',
    'producer_blocked',
    'producer_diverted',
  ];
  expect(mayBeSilent).toEqual(
    expect.arrayContaining(silent.map((name) => name.replace(/^waypost_|_total$/g, ''))),
  );
  await eventually(() => {
    const exported = new Set([...collector.metrics().values()].flatMap((names) => [...names]));
    expect(valued.filter(({ otlp }) => !exported.has(otlp)).map(({ otlp }) => otlp)).toEqual([]);
  });
  expect([...collector.metrics().keys()].sort()).toEqual(
    SERVICES.map((name) => `waypost-${name}`).sort(),
  );
  // No span, metric or log line contains a token of a customer.
  for (const text of [collector.text(), all, stage.system.output()]) {
    for (const secret of [SECRET_PATH, SECRET_HEADER]) expect(text).not.toContain(secret);
  }
});
