import { deliveryId } from '../../../shared/model/delivery';
import { clockMs, openLoop, until } from '../../harness/timing';
import { cpuBetween, type CpuUse, readCpu } from '../../harness/usage';
import { type Times, timesOf } from '../arithmetic';
import { Calls } from '../load';
import { type Bench } from '../setup';
import { type Target } from './pipeline';

/**
 * An open loop of single calls at a fixed rate: measures from just before the call to the webhook's
 * arrival.
 */

/** Enough that no call of 4,000 a second waits for one. */
const CONNECTIONS = 64;
const ARRIVAL_MS = 10_000;
const POLL_MS = 100;

export interface LatencySize {
  perSecond: number;
  warmUp: number;
  count: number;
  /** unique on the system, because ids of messages must not repeat */
  run: string;
}

/** Faster than the slowest measurement: uncompiled code slows a system only in its first minute. */
const WARM_UP_PER_SECOND = 300;

export interface LatencyFigure extends Times {
  perSecond: number;
  missing: number;
  cpu: CpuUse;
}

/** Estimates its duration. */
export const latencyMs = (size: LatencySize): number =>
  (size.warmUp / WARM_UP_PER_SECOND + size.count / size.perSecond) * 1000;

export async function measureLatency(
  bench: Bench,
  target: Target,
  size: LatencySize,
): Promise<LatencyFigure> {
  const { endpoint } = bench;
  const calls = new Calls(target.ingestUrl, CONNECTIONS, target.customers, size.run);
  const sentAt = new Map<string, number>();
  const one = async () => {
    const atMs = clockMs();
    const { customer, messageId } = await calls.postSingle();
    sentAt.set(deliveryId(customer.sourceId, messageId, customer.destinationId), atMs);
  };

  endpoint.reset({ ids: true });
  await openLoop(WARM_UP_PER_SECOND, (started) => started < size.warmUp, one);
  sentAt.clear();
  const from = readCpu(target.pids);
  await openLoop(size.perSecond, (started) => started < size.count, one);
  const cpu = cpuBetween(from, readCpu(target.pids));
  const total = size.warmUp + size.count;
  await until(async () => (await endpoint.report()).count >= total, POLL_MS, ARRIVAL_MS);
  const { arrivals } = await endpoint.report();
  await calls.close();

  const latencies = [...sentAt].flatMap(([id, atMs]) => {
    const arrivedAt = arrivals.get(id);
    return arrivedAt === undefined ? [] : [arrivedAt - atMs];
  });
  return {
    ...timesOf(latencies),
    count: size.count,
    perSecond: size.perSecond,
    missing: size.count - latencies.length,
    cpu,
  };
}
