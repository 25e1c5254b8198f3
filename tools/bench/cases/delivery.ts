import { DEAD, tierDelayMs, WEBHOOKS } from '../../../shared/kafka/topics';
import { startServices } from '../../harness/services';
import { until, within } from '../../harness/timing';
import { cpuBetween, type CpuUse, readCpu } from '../../harness/usage';
import { ratio } from '../arithmetic';
import { micros, PER_WEBHOOK, type Row, rows } from '../rows';
import { seedDeliveries } from '../seed';
import { type Bench } from '../setup';
import { metricOf } from './observe';

/** The delivery service alone, while it empties a topic that was filled before its start. */

/** Customers: each a destination with one URL of the receiver. */
const DESTINATIONS = 8;
const DEADLINE_MS = 180_000;
/** Interval of the check that all outcomes are recorded. */
const POLL_MS = 20;
/** Time for requests that should not come. */
const AFTER_MS = 200;

export interface DeliveryFigure {
  /** webhooks after the warm-up; the rates are over these */
  count: number;
  warmUp: number;
  perSecond: number;
  /** from the end of the warm-up until every outcome was recorded */
  cpu: CpuUse;
  /** the same from the first POST of the process on, and over all webhooks */
  cold: CpuUse;
  /** POSTs beyond one a webhook */
  repeats: number;
  /** deliveries in a tier because their lane was full */
  diverted: number;
  /** log lines of the service at level warning or above, and their number */
  warnings: Record<string, number>;
}

export function deliveryRows(figure: DeliveryFigure, bareMicros: number): Row[] {
  const cold = { cpu: figure.cold, count: figure.count + figure.warmUp };
  return rows('delivery alone', [
    ['', PER_WEBHOOK, micros(figure, 'delivery')],
    ['', '× bare loop', ratio(micros(figure, 'delivery'), bareMicros), 1.5],
    [', from its first POST on', PER_WEBHOOK, micros(cold, 'delivery')],
    [', broker', PER_WEBHOOK, micros(figure, 'broker')],
    ['', 'webhooks/s', figure.perSecond],
  ]);
}

/**
 * @param at.env additional settings of the process
 * @param at.origin of all URLs
 */
export async function measureDelivery(
  bench: Bench,
  size: { warmUp: number; count: number },
  at: { env: Record<string, string>; origin: string } = { env: {}, origin: bench.endpoint.origin },
): Promise<DeliveryFigure> {
  const { broker, endpoint } = bench;
  const system = await bench.newSystem('delivery');
  const { prefix } = system;
  const urls = Array.from(
    { length: DESTINATIONS },
    (_, i) => `${at.origin}/ok/customer-${String(i)}`,
  );
  await seedDeliveries(system.env, { urls, count: size.warmUp + size.count });
  // A retried produce request may have written its records twice.
  const total = await broker.records(prefix + WEBHOOKS);
  const count = total - size.warmUp;

  endpoint.reset({ ids: false });
  Object.assign(system.env, at.env);
  const services = await startServices(system, ['delivery']);
  const pids = { ...services.pids, broker: broker.pid, receiver: endpoint.pid, bench: process.pid };
  const mark = (count: number) =>
    endpoint.reached(count).then((atMs) => ({ atMs, cpu: readCpu(pids) }));
  try {
    const marks = Promise.all([mark(1), mark(size.warmUp), mark(total)]);
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
      diverted: await divertedRecords(bench, prefix),
      warnings: services.warnings(),
    };
  } finally {
    await services.stop();
    await broker.forget(prefix);
  }
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
