import { spread } from './arithmetic';
import { type IsolationFigure, type IsolationPhase, type Round } from './figures';
import { isolationGoal } from './goals';
import { type Line } from './line';

/** The lines of the table for endpoints that hang: pure. */

export function isolationLines(rounds: readonly Round[]): Line[] {
  const [figure] = rounds.flatMap(({ isolation }) => isolation ?? []);
  if (!figure) return [];
  const clean = spread(rounds.map(({ isolation }) => isolation?.phases[0]?.p99Ms));
  const overall: Line[] = [
    { what: 'isolation: capacity, single calls', unit: 'calls/s', of: (r) => r.isolation?.capacity },
    { what: 'isolation: offered in every phase', unit: 'calls/s', of: (r) => r.isolation?.offeredPerSecond },
  ];
  const phases = figure.phases.map(({ hanging }) => phaseLines(hanging, figure, clean?.median));
  return [...overall, ...phases.flat()];
}

function phaseLines(
  hanging: number,
  { endpoints, laneLimit }: IsolationFigure,
  cleanP99Ms: number | undefined,
): Line[] {
  const share = hanging === 0 ? 'clean' : `${String((100 * hanging) / endpoints)} % hang`;
  const line = (what: string, unit: string, of: (phase: IsolationPhase) => number): Line => ({
    what: `isolation, ${share}: ${what}`,
    unit,
    of: ({ isolation }) => {
      const phase = isolation?.phases.find((one) => one.hanging === hanging);
      return phase && of(phase);
    },
  });
  const p99 = line('healthy p99', 'ms', ({ p99Ms }) => p99Ms);
  const goal = hanging > 0 && cleanP99Ms !== undefined ? { goal: isolationGoal(cleanP99Ms) } : {};
  const common = [
    line('healthy p50', 'ms', ({ p50Ms }) => p50Ms),
    { ...p99, ...goal },
    line('healthy, longest', 'ms', ({ maxMs }) => maxMs),
    line('healthy delivered', '% of offered', (phase) => (100 * phase.deliveredPerSecond) / phase.offeredPerSecond),
  ];
  const connections = line('most connections to a hung one', '', (phase) => phase.mostConnections);
  return hanging === 0 ? common : [...common, { ...connections, goal: { limit: laneLimit, is: 'most' } }];
}
