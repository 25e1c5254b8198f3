import { processNames } from '../../../bin/service-list';
import { type CpuUse } from '../../harness/usage';
import { ratio, sum } from '../arithmetic';
import { bareMicros, first, type Goal, micros, most, type Row, rows } from './columns';
import { type LatencyFigure, type Round } from './figures';

/** The rows of cores and latency over load. Pure. */

/**
 * Returns everything that an installation runs: the services, or the process that they share, and
 * the broker.
 */
function everythingOf(byName: Readonly<Record<string, number>>): string[] {
  return [...processNames('all' in byName), 'broker'];
}

/** Most cores where the bare loop takes 55 µs, p50 and p99 by rate. */
const GOALS: Readonly<Record<number, { cores?: Goal; p50?: Goal; p99?: Goal }>> = {
  50: { cores: most(0.2), p50: most(3), p99: most(10) },
  200: { cores: most(0.35), p50: most(4), p99: most(20) },
  500: { cores: most(0.5), p50: most(5), p99: most(30) },
  1_000: { cores: most(0.8) },
  1_500: { p50: most(5), p99: most(60) },
};

/** @param rounds they name the rates that have rows */
export function loadRows(rounds: readonly Round[]): Row[] {
  const rates = first(rounds, ({ load }) => load?.rates) ?? [];
  return [
    ...rows('all, without calls', ({ load }) => load?.idle, [
      ['', 'cores', ({ cpu }) => coresOf(cpu), most(0.08)],
      [
        '',
        'MB',
        ({ rssMb }) => sum(everythingOf(rssMb).map((name) => rssMb[name] ?? NaN)),
        most(900),
      ],
    ]),
    ...rates.flatMap(({ perSecond }, i) => rateRows(perSecond, ({ load }) => load?.rates[i])),
  ];
}

function rateRows(perSecond: number, of: (round: Round) => LatencyFigure | undefined): Row[] {
  const goals = GOALS[perSecond];
  return rows(`all, ${String(perSecond)} single calls/s`, of, [
    ['', 'cores', ({ cpu }) => coresOf(cpu)],
    [
      ' where the bare loop takes 55 µs',
      'cores',
      ({ cpu }, round) => (coresOf(cpu) * 55) / (bareMicros(round) ?? NaN),
      goals?.cores,
    ],
    [
      '',
      'CPU-ms/webhook',
      (figure) => ratio(micros(figure, ...everythingOf(figure.cpu.byName)), 1_000),
    ],
    [', p50', 'ms', ({ p50Ms }) => p50Ms, goals?.p50],
    [', p99', 'ms', ({ p99Ms }) => p99Ms, goals?.p99],
    [', not arrived', 'webhooks', ({ missing }) => missing],
  ]);
}

/** Returns the cores of everything; NaN if the broker is not on this machine. */
function coresOf({ byName, seconds }: CpuUse): number {
  return sum(everythingOf(byName).map((name) => byName[name] ?? NaN)) / seconds;
}
