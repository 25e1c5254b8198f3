import { SERVICES } from '../../../bin/service-list';
import { ATTEMPTS, DUE, tierDelayMs } from '../../../shared/kafka/topics';
import { deliveryId } from '../../../shared/model/delivery';
import { clockMs, openLoop, until } from '../../harness/timing';
import { Calls, createCustomers } from '../load';
import { type Progress } from '../progress';
import { most, type Row, rows } from '../rows';
import { openSeeder } from '../seed';
import { type Bench, withSystem } from '../setup';
import { type History, readHistory } from './attempt-history';
import { outcome } from './outage-outcome';

/**
 * One endpoint that responds only with 503 for a while, under a steady load for it alone, and then
 * recovers: the cost of the outage, the draining of the waiting deliveries, and the latency of
 * fresh calls during it.
 */

const CONNECTIONS = 8;
/** The last waiting delivery may be in a tier as long as the outage, and then in one more. */
const DRAIN_MARGIN_MS = 120_000;
/**
 * This fraction of a second's load may be under way: fewer deliveries no longer count as waiting.
 */
const UNDER_WAY = 0.1;
const POLL_MS = 250;

export interface OutageSize {
  perSecond: number;
  /** duration of the clean time before it */
  beforeSeconds: number;
  deadSeconds: number;
}

interface OutageFigure extends ReturnType<typeof outcome> {
  perSecond: number;
  /** records written during the outage: to tiers; to tiers, to `webhooks.due` and to `attempts` */
  appendsPerSecond: { tiers: number; all: number };
}

export function outageRows(figure: OutageFigure): Row[] {
  const { perSecond, appendsPerSecond, hops, before, fresh } = figure;
  return rows('outage', [
    [': appended to tiers while dead', 'records/s', appendsPerSecond.tiers],
    [
      ': appended to tiers, due and attempts',
      '× accepted records',
      appendsPerSecond.all / perSecond,
    ],
    [': waits of a record, mean', 'hops', hops.mean],
    [': waits of a record, most', 'hops', hops.most],
    [': back to first delivery', 's', figure.firstMs / 1000],
    [': back to drained', 's', figure.drainMs / 1000],
    [': most deliveries in a second of the drain', 'webhooks/s', figure.peakPerSecond],
    [': circuit opened again', 'times', figure.reopened, most(0)],
    [', before: p50', 'ms', before.p50Ms],
    [', before: p99', 'ms', before.p99Ms],
    [', fresh calls during the drain: p50', 'ms', fresh.p50Ms],
    [', fresh calls during the drain: p99', 'ms', fresh.p99Ms],
  ]);
}

export function measureOutage(
  bench: Bench,
  size: OutageSize,
  progress: Progress,
): Promise<OutageFigure> {
  return withSystem(bench, { name: 'outage', services: SERVICES }, async ({ system }) => {
    const { endpoint } = bench;
    const [origin = ''] = await endpoint.origins(1);
    const customers = await createCustomers(system, [`${origin}/ok/`]);
    const calls = new Calls(system.ingestUrl, CONNECTIONS, customers, 'outage');
    const sentAt = new Map<string, number>();
    let stopped = false;
    const one = async () => {
      const atMs = clockMs();
      const { customer, messageId } = await calls.postSingle();
      sentAt.set(deliveryId(customer.sourceId, messageId, customer.destinationId), atMs);
    };
    endpoint.reset({ ids: true });
    const load = openLoop(size.perSecond, () => !stopped, one);
    const refused = load.then(() => new Promise<never>(() => undefined));
    const wait = (what: string, ms: number, done: () => boolean) =>
      progress.during(what, ms, () => Promise.race([until(done, POLL_MS, ms), refused]));
    try {
      await wait('before the outage', size.beforeSeconds * 1000, () => false);
      endpoint.behave([origin], 'fail');
      const dead = { atMs: clockMs(), appends: await appends(bench, system.prefix) };
      await wait('the endpoint is dead', size.deadSeconds * 1000, () => false);
      const back = {
        atMs: clockMs(),
        wallMs: Date.now(),
        appends: await appends(bench, system.prefix),
      };
      endpoint.behave([origin], 'path');
      const drainMs = size.deadSeconds * 1000 + DRAIN_MARGIN_MS;
      await wait(
        'it is back',
        drainMs,
        () => sentAt.size - endpoint.accepted < size.perSecond * UNDER_WAY,
      );
      stopped = true;
      await load;
      await until(() => endpoint.accepted >= sentAt.size, POLL_MS, DRAIN_MARGIN_MS);
      const { arrivals } = await endpoint.report();
      const times = { deadMs: dead.atMs, backMs: back.atMs, backWallMs: back.wallMs };
      const seconds = (back.atMs - dead.atMs) / 1000;
      return {
        perSecond: size.perSecond,
        appendsPerSecond: { tiers: appended('tiers'), all: appended('all') },
        ...outcome(sentAt, arrivals, await historyOf(system.env), times),
      };

      function appended(what: keyof Appends): number {
        return (back.appends[what] - dead.appends[what]) / seconds;
      }
    } finally {
      stopped = true;
      await calls.close();
    }
  });
}

interface Appends {
  tiers: number;
  /** appends to tiers, to `webhooks.due`, and to `attempts` */
  all: number;
}

async function appends({ broker }: Bench, prefix: string): Promise<Appends> {
  const tiers = await broker.recordsIn(prefix, (topic) => tierDelayMs(topic) !== undefined);
  const others = await broker.recordsIn(prefix, (topic) => topic === DUE || topic === ATTEMPTS);
  return { tiers, all: tiers + others };
}

async function historyOf(env: Record<string, string>): Promise<History> {
  const seeder = await openSeeder(env);
  try {
    return await readHistory(seeder.kafka);
  } finally {
    await seeder.close();
  }
}
