import { Metrics, only } from '../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../shared/telemetry/prometheus';

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test("metrics have OpenTelemetry's names for Prometheus, and escaped labels", async () => {
  const metrics = new Metrics();
  metrics.service = 'delivery';
  metrics
    .counter({ name: 'waypost.things.done', help: 'Done.' })
    .of({ 'http.route': 'a"b\\c\nd' }).value += 3;
  metrics.gauge({ name: 'waypost.things.held', help: 'Held.', unit: 'By' }, () => only(7));
  metrics.gauge({ name: 'waypost.things.fill', help: 'Full.', unit: '1' }, () => [
    { labels: { of: 'x' }, value: 0.5 },
  ]);
  metrics.counted({ name: 'process.cpu.time', help: 'Time.', unit: 's' }, () => only(1.5));
  expect(await renderMetrics(metrics)).toBe(
    [
      '# HELP waypost_things_done_total Done.',
      '# TYPE waypost_things_done_total counter',
      'waypost_things_done_total{service="delivery",http_route="a\\"b\\\\c\\nd"} 3',
      '# HELP waypost_things_held_bytes Held.',
      '# TYPE waypost_things_held_bytes gauge',
      'waypost_things_held_bytes{service="delivery"} 7',
      '# HELP waypost_things_fill_ratio Full.',
      '# TYPE waypost_things_fill_ratio gauge',
      'waypost_things_fill_ratio{service="delivery",of="x"} 0.5',
      '# HELP process_cpu_time_seconds_total Time.',
      '# TYPE process_cpu_time_seconds_total counter',
      'process_cpu_time_seconds_total{service="delivery"} 1.5',
      '',
    ].join('\n'),
  );
});

test('a histogram counts a value in the first bucket that fits it, and larger ones', async () => {
  const metrics = new Metrics();
  const series = metrics
    .histogram({ name: 'waypost.wait', help: 'Wait.', unit: 's' }, [1, 2])
    .of({ tier: '10s' });
  for (const value of [0, 1, 1.5, 2, 3]) series.record(value);
  expect(lines(await renderMetrics(metrics))).toEqual([
    'waypost_wait_seconds_bucket{tier="10s",le="1"} 2',
    'waypost_wait_seconds_bucket{tier="10s",le="2"} 4',
    'waypost_wait_seconds_bucket{tier="10s",le="+Inf"} 5',
    'waypost_wait_seconds_sum{tier="10s"} 7.5',
    'waypost_wait_seconds_count{tier="10s"} 5',
  ]);
});

test('a metric has a bounded number of series, and counts further values as other', async () => {
  const metrics = new Metrics();
  const family = metrics.counter({ name: 'waypost.statuses', help: 'Statuses.' });
  for (let status = 0; status < 1_000; status++) family.of({ status: String(status) }).value++;
  const rendered = lines(await renderMetrics(metrics));
  expect(rendered.length).toBeLessThanOrEqual(101);
  expect(rendered.at(-1)).toBe('waypost_statuses_total{status="other"} 900');
});

test('concurrent readers share one refresh, and a refresh that fails stops no reader', async () => {
  const metrics = new Metrics();
  let looks = 0;
  metrics.beforeReading(() => Promise.reject(new Error('Kafka is away')));
  const end = metrics.beforeReading(() => {
    looks++;
    return Promise.resolve();
  });
  metrics.gauge({ name: 'waypost.looks', help: 'Looks.' }, () => only(looks));
  const [first, second] = await Promise.all([renderMetrics(metrics), renderMetrics(metrics)]);
  expect(lines(first)).toEqual(['waypost_looks 1']);
  expect(second).toBe(first);
  end();
  expect(lines(await renderMetrics(metrics))).toEqual(['waypost_looks 1']);
});

test('uncounted work leaves all counters and histograms at 0, and the SDK empty', async () => {
  const metrics = new Metrics();
  const done = metrics.counter({ name: 'waypost.things.done', help: 'Done.' }).of();
  const wait = metrics.histogram({ name: 'waypost.wait', help: 'Wait.', unit: 's' }, [1]).of();
  const told: number[] = [];
  metrics.each((metric) => {
    if (metric.kind === 'histogram') metric.tee = (value) => told.push(value);
  });
  const count = (value: number) => {
    done.value++;
    wait.record(value);
  };
  await metrics.uncounted(async () => {
    await Promise.resolve();
    count(0.5);
    expect(done.value).toBe(1);
  });
  expect([done.value, wait.sum, ...wait.counts, told]).toEqual([0, 0, 0, 0, []]);
  const failing = metrics.uncounted(() => {
    count(0.5);
    return Promise.reject(new Error('no port is free'));
  });
  await expect(failing).rejects.toThrow('no port is free');
  count(2);
  expect([done.value, wait.sum, ...wait.counts, told]).toEqual([1, 2, 0, 1, [2]]);
});
