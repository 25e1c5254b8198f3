import { deliveryId } from '../../../shared/model/delivery';
import { clockMs, openLoop, until } from '../../harness/timing';
import { cpuBetween, readCpu } from '../../harness/usage';
import { percentile } from '../arithmetic';
import { Calls } from '../load';
import { type LatencyFigure } from '../report/figures';
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
  /**
   * default: `perSecond`. Faster, because uncompiled code slows a system only in its first minute.
   */
  warmUpPerSecond?: number;
  count: number;
  /** unique on the system, because ids of messages must not repeat */
  run?: string;
}

const warmUpRate = ({ warmUpPerSecond, perSecond }: LatencySize) => warmUpPerSecond ?? perSecond;

/** Estimates its duration. */
export const latencyMs = (size: LatencySize): number =>
  (size.warmUp / warmUpRate(size) + size.count / size.perSecond) * 1000;

export async function measureLatency(
  bench: Bench,
  target: Target,
  size: LatencySize,
): Promise<LatencyFigure> {
  const { endpoint } = bench;
  const calls = new Calls(target.ingestUrl, CONNECTIONS, target.customers, size.run ?? 'latency');
  const sentAt = new Map<string, number>();
  const one = async () => {
    const atMs = clockMs();
    const { customer, messageId } = await calls.postSingle();
    sentAt.set(deliveryId(customer.sourceId, messageId, customer.destinationId), atMs);
  };

  endpoint.reset({ ids: true });
  await openLoop(warmUpRate(size), (started) => started < size.warmUp, one);
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
    count: size.count,
    perSecond: size.perSecond,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    maxMs: percentile(latencies, 1),
    missing: size.count - latencies.length,
    cpu,
  };
}
