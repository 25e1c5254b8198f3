import { DEAD, tierDelayMs, WEBHOOKS } from '../../../shared/kafka/topics';
import { type Destination } from '../../../shared/model/config';
import { startServices } from '../../harness/services';
import { until, within } from '../../harness/timing';
import { cpuBetween, readCpu } from '../../harness/usage';
import { type DeliveryFigure } from '../report/figures';
import { seedDeliveries } from '../seed';
import { type Bench } from '../setup';
import { metricOf } from './audiences-state';

/** The delivery service alone, while it empties a topic that was filled before its start. */

/** Customers: each a destination with one URL of the receiver. */
const DESTINATIONS = 8;
const DEADLINE_MS = 180_000;
/** Interval of the check that all outcomes are recorded. */
const POLL_MS = 20;
/** Time for requests that should not come. */
const AFTER_MS = 200;

/** Interval of the metrics scrapes, if any: four times as often as usual. */
const SCRAPE_MS = 4_000;

interface Watched {
  /** additional settings of the process */
  env?: Record<string, string>;
  /** reads its metrics */
  scraped?: boolean;
  /** of all URLs */
  origin?: string;
  /** additional fields of the destinations */
  more?: Partial<Destination>;
}

export async function measureDelivery(
  bench: Bench,
  size: { warmUp: number; count: number },
  { env = {}, scraped = false, origin = bench.endpoint.origin, more = {} }: Watched = {},
): Promise<DeliveryFigure> {
  const { broker, endpoint } = bench;
  const system = await bench.newSystem('delivery');
  const { prefix } = system;
  const urls = Array.from({ length: DESTINATIONS }, (_, i) => `${origin}/ok/customer-${String(i)}`);
  await seedDeliveries(system.env, { urls, count: size.warmUp + size.count, more });
  // A retried produce request may have written its records twice.
  const total = await broker.records(prefix + WEBHOOKS);
  const count = total - size.warmUp;

  endpoint.reset({ ids: false });
  Object.assign(system.env, env);
  const services = await startServices(system, ['delivery']);
  const scraping = scraped ? scrape(system.healthPorts('delivery')) : undefined;
  const pids = { ...services.pids, broker: broker.pid, receiver: endpoint.pid, bench: process.pid };
  const at = (count: number) =>
    endpoint.reached(count).then((atMs) => ({ atMs, cpu: readCpu(pids) }));
  try {
    const marks = Promise.all([at(1), at(size.warmUp), at(total)]);
    await services.ready();
    const [first, warm, last] = await within(
      `the delivery of ${String(total)} webhooks`,
      DEADLINE_MS,
      marks,
    );
    const delivered = () =>
      metricOf(system.healthPorts('delivery'), 'waypost_deliveries_delivered_total');
    const recorded = () => delivered().then((count) => count >= total);
    if (!(await until(recorded, POLL_MS, DEADLINE_MS))) {
      throw new Error('not every outcome was recorded');
    }
    const end = readCpu(pids);
    await until(() => false, AFTER_MS, AFTER_MS);
    const report = await endpoint.report();
    return {
      count,
      warmUp: size.warmUp,
      perSecond: count / ((last.atMs - warm.atMs) / 1000),
      cpu: cpuBetween(warm.cpu, end),
      cold: cpuBetween(first.cpu, end),
      repeats: report.count - total,
      eventsPerPost: report.count / report.requests,
      diverted: await divertedRecords(bench, prefix),
      warnings: services.warnings(),
    };
  } finally {
    clearInterval(scraping);
    await services.stop();
    await broker.forget(prefix);
  }
}

function scrape(port: number): NodeJS.Timeout {
  const read = () =>
    fetch(`http://127.0.0.1:${String(port)}/metrics`).then((answer) => answer.text());
  return setInterval(() => void read().catch(() => undefined), SCRAPE_MS);
}

/**
 * Returns the number of deliveries in tiers or dead letters, although the receiver refuses nothing.
 */
export function divertedRecords(
  { broker }: Pick<Bench, 'broker'>,
  prefix: string,
): Promise<number> {
  return broker.recordsIn(prefix, (topic) => topic === DEAD || tierDelayMs(topic) !== undefined);
}
