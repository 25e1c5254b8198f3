import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance, type EventLoopUtilization } from 'node:perf_hooks';
import { ROOT } from '../service/repo-root';
import { type Metrics, only } from './metrics';

/** Metrics of the process: event loop, CPU, memory, uptime and version. */

const DELAY_RESOLUTION_MS = 20;
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
  metrics.gauge({ name: 'process.memory.usage', help: 'Resident memory of the process.', unit: 'By' }, () =>
    only(process.memoryUsage.rss()),
  );
  metrics.gauge({ name: 'v8js.memory.heap.used', help: 'Heap in use.', unit: 'By' }, () =>
    only(process.memoryUsage().heapUsed),
  );
  metrics.gauge({ name: 'process.uptime', help: 'Time since the process started.', unit: 's' }, () =>
    only(process.uptime()),
  );
  const version = versionOf();
  const info = { name: 'waypost.info', help: 'Always 1.', labels: { version: 'the version of Waypost' } };
  metrics.gauge(info, () => [{ labels: { version }, value: 1 }]);
}

function measureEventLoop(metrics: Metrics): void {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  let last: EventLoopUtilization | undefined;
  let read = { p50: 0, p99: 0, max: 0, utilization: 0 };
  metrics.beforeReading(() => {
    // The monitor measures the interval of a 20 ms timer, these 20 ms included.
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
    return Promise.resolve();
  });
  for (const name of ['p50', 'p99', 'max'] as const) {
    const help = `Delay of timers since the last scrape: ${name}.`;
    metrics.gauge({ name: `nodejs.eventloop.delay.${name}`, help, unit: 's' }, () => only(read[name]));
  }
  const help = 'Share of time that the event loop was busy since the last scrape, 0 to 1.';
  metrics.gauge({ name: 'nodejs.eventloop.utilization', help, unit: '1' }, () => only(read.utilization));
}

function versionOf(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  return version;
}
