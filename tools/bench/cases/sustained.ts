import { setTimeout as pause } from 'node:timers/promises';
import { clockMs, within } from '../../harness/timing';
import { cpuBetween, readCpu, residents } from '../../harness/usage';
import { type SustainedFigure } from '../report/figures';
import { type Bench } from '../setup';
import { closedLoop, type Target } from './pipeline';

/**
 * All services under a closed loop of batches for a minute: their throughput, second by second, and
 * their memory.
 */

const WARM_UP_MS = 60_000;
const SECOND_MS = 1_000;

export interface SustainedSize {
  warmUp: number;
  seconds: number;
  callsPerRequest: number;
  connections: number;
}

export async function measureSustained(
  bench: Bench,
  target: Target,
  size: SustainedSize,
): Promise<SustainedFigure> {
  const { endpoint } = bench;
  const load = { ...size, name: 'sustained' };
  const { measured, missing, repeats } = await closedLoop(bench, target, load, async () => {
    let count = 0;
    endpoint.onCount((arrived) => (count = arrived));
    await within('the warm-up', WARM_UP_MS, endpoint.reached(size.warmUp));
    const mark = () => ({ atMs: clockMs(), count, cpu: readCpu(target.pids) });
    const from = mark();
    const rssBefore = residents(target.pids);
    const counts = [from.count];
    for (let second = 1; second <= size.seconds; second++) {
      await pause(Math.max(0, from.atMs + second * SECOND_MS - clockMs()));
      counts.push(count);
    }
    return { from, to: mark(), counts, rssBefore, rssAfter: residents(target.pids) };
  });
  const { from, to, counts } = measured;
  const bySecond = counts.slice(1).map((count, i) => count - (counts[i] ?? 0));
  return {
    seconds: size.seconds,
    count: to.count - from.count,
    perSecond: (to.count - from.count) / ((to.atMs - from.atMs) / 1000),
    worstSecond: Math.min(...bySecond),
    cpu: cpuBetween(from.cpu, to.cpu),
    rssMb: { before: measured.rssBefore, after: measured.rssAfter },
    missing,
    repeats,
  };
}
