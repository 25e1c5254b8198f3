import { setTimeout as pause } from 'node:timers/promises';
import { processNames } from '../../../bin/service-list';
import { cpuBetween, type CpuUse, readCpu, residents } from '../../harness/usage';
import { createCustomers } from '../load';
import { type Progress } from '../progress';
import { ratio, sum } from '../arithmetic';
import { micros, type Row, rows } from '../rows';
import { type Bench, withSystem } from '../setup';
import { type LatencyFigure, latencyMs, measureLatency } from './latency';

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

interface LoadCurveFigure {
  /** MB by process */
  idle: { cpu: CpuUse; rssMb: Record<string, number> };
  /** by rate, ascending */
  rates: LatencyFigure[];
}

/** Most cores where the bare loop takes 55 µs, p50 and p99 by rate. */
const GOALS: Readonly<Record<number, { cores?: number; p50?: number; p99?: number }>> = {
  50: { cores: 0.2, p50: 3, p99: 10 },
  200: { cores: 0.35, p50: 4, p99: 20 },
  500: { cores: 0.5, p50: 5, p99: 30 },
  1_000: { cores: 0.8 },
  1_500: { p50: 5, p99: 60 },
};

export function loadRows({ idle, rates }: LoadCurveFigure, bareMicros: number): Row[] {
  const names = [...processNames('all' in idle.rssMb), 'broker'];
  /** NaN if the broker is not on this machine */
  const coresOf = ({ byName, seconds }: CpuUse) =>
    sum(names.map((name) => byName[name] ?? NaN)) / seconds;
  return [
    ...rows('all, without calls', [
      ['', 'cores', coresOf(idle.cpu), 0.08],
      ['', 'MB', sum(names.map((name) => idle.rssMb[name] ?? NaN)), 900],
    ]),
    ...rates.flatMap((figure) => {
      const goals = GOALS[figure.perSecond];
      const cores = coresOf(figure.cpu);
      return rows(`all, ${String(figure.perSecond)} single calls/s`, [
        ['', 'cores', cores],
        [' where the bare loop takes 55 µs', 'cores', (cores * 55) / bareMicros, goals?.cores],
        ['', 'CPU-ms/webhook', ratio(micros(figure, ...names), 1_000)],
        [', p50', 'ms', figure.p50Ms, goals?.p50],
        [', p99', 'ms', figure.p99Ms, goals?.p99],
        [', not arrived', 'webhooks', figure.missing],
      ]);
    }),
  ];
}

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
