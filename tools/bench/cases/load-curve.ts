import { setTimeout as pause } from 'node:timers/promises';
import { processNames } from '../../../bin/service-list';
import { cpuBetween, readCpu, residents } from '../../harness/usage';
import { createCustomers } from '../load';
import { type Progress } from '../progress';
import { type LoadCurveFigure } from '../report/figures';
import { type Bench, withSystem } from '../setup';
import { latencyMs, measureLatency } from './latency';

/**
 * CPU and latency of one system over its load: without any call, and at several rates of single
 * calls to one endpoint.
 */

export interface LoadCurveSize {
  /** time after the start before the system counts as idle */
  settleSeconds: number;
  /** length of the measurement without calls, and of each rate */
  seconds: number;
  warmUp: number;
  /** calls a second, ascending */
  rates: readonly number[];
  /** all services run in one process */
  together?: boolean;
}

const WARM_UP_PER_SECOND = 300;

export async function measureLoadCurve(
  bench: Bench,
  size: LoadCurveSize,
  progress: Progress,
): Promise<LoadCurveFigure> {
  const services = processNames(size.together);
  return withSystem(bench, { name: 'load', services }, async ({ system, pids }) => {
    const customers = await createCustomers(system, [`${bench.endpoint.origin}/ok/load`]);
    await progress.during('settling', size.settleSeconds * 1_000, () =>
      pause(size.settleSeconds * 1_000),
    );
    const from = readCpu(pids);
    await progress.during('without calls', size.seconds * 1_000, () => pause(size.seconds * 1_000));
    const idle = { cpu: cpuBetween(from, readCpu(pids)), rssMb: residents(pids) };
    const figure: LoadCurveFigure = { idle, rates: [] };
    for (const perSecond of size.rates) {
      const warmUp = figure.rates.length === 0 ? size.warmUp : perSecond;
      const run = `load-${String(perSecond)}`;
      const rate = {
        perSecond,
        warmUp,
        warmUpPerSecond: WARM_UP_PER_SECOND,
        count: perSecond * size.seconds,
        run,
      };
      const measure = () => measureLatency(bench, { ...system, customers, pids }, rate);
      figure.rates.push(
        await progress.during(`${String(perSecond)} calls/s`, latencyMs(rate), measure),
      );
    }
    return figure;
  });
}
