import { type Circuit } from './circuit';
import { type ConcurrencyLimit } from './concurrency-limit';
import { type RateLimit } from './rate-limit';

interface LaneState {
  concurrency: ConcurrencyLimit;
  circuit: Circuit;
  rateLimit: RateLimit;
  /** open jobs, and the most that may be open */
  active: number;
  limit: number;
}

interface JobsAhead {
  /** that begin first, and the one itself */
  jobs: number;
  /** age of the oldest open job, ms */
  oldestMs: number;
  /** lanes wait for sockets */
  contended: boolean;
}

/**
 * Estimates the time until a lane has begun this many jobs, ms, and names what it waits for. Pure.
 */
export function expectedWait(
  { concurrency, circuit, rateLimit, active, limit }: LaneState,
  { jobs, oldestMs, contended }: JobsAhead,
  now: number,
): { waitMs: number; reason: 'lane_full' | 'rate_limited' } {
  const oneMs = Math.max(concurrency.meanMs, oldestMs);
  const width = contended ? Math.max(1, Math.min(active, concurrency.limit)) : concurrency.limit;
  // A recovering endpoint doubles its width with each round.
  const recoveryMs = Math.log2(concurrency.limit / limit) * oneMs;
  const paceMs = recoveryMs + concurrency.drainMs(jobs, oneMs, width);
  const rateMs = recoveryMs + rateLimit.waitMs(jobs, now);
  const waitMs = (circuit.refusal(now)?.waitMs ?? 0) + Math.max(paceMs, rateMs);
  return { waitMs, reason: rateMs > paceMs ? 'rate_limited' : 'lane_full' };
}
