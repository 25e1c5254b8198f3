import { median, spread } from '../arithmetic';
import { type IsolationFigure, type IsolationPhase, type Round } from './figures';
import { isolationGoal } from './goals';
import { type Line } from './row';

/** The rows of the table for hanging endpoints. Pure. */

export function isolationLines(rounds: readonly Round[]): Line[] {
  const [figure] = rounds.flatMap(({ isolation }) => isolation ?? []);
  if (!figure) return [];
  const clean = spread(rounds.map(({ isolation }) => isolation && cleanP99Ms(isolation.phases)));
  const overall: Line[] = [
    { what: 'isolation: capacity, single calls', unit: 'calls/s', of: (r) => r.isolation?.capacity },
    { what: 'isolation: offered in every phase', unit: 'calls/s', of: (r) => r.isolation?.offeredPerSecond },
  ];
  const phases = hangings(figure.phases).map((hanging) => phaseLines(hanging, figure, clean?.median));
  return [...overall, ...phases.flat()];
}

/** Lists the numbers of hanging endpoints, each once, the clean phases' first. */
export function hangings(phases: readonly IsolationPhase[]): number[] {
  return [...new Set(phases.map(({ hanging }) => hanging))];
}

/** Returns `clean`, or the share of the endpoints that hung. */
export function shareOf(hanging: number, endpoints: number): string {
  return hanging === 0 ? 'clean' : `${String((100 * hanging) / endpoints)} % hang`;
}

/** Returns the figure of the phases with this number of hanging endpoints: the median of several. */
export function ofPhases(
  phases: readonly IsolationPhase[],
  hanging: number,
  of: (phase: IsolationPhase) => number,
): number {
  return median(phases.filter((phase) => phase.hanging === hanging).map(of));
}

/** Returns the p99 of a phase as a multiple of the clean phases' before and after it. */
function besideClean(phases: readonly IsolationPhase[], hanging: number): number {
  const at = phases.findIndex((phase) => phase.hanging === hanging);
  const around = [phases[at - 1], phases[at + 1]].flatMap((phase) => (phase?.hanging === 0 ? [phase.p99Ms] : []));
  return (phases[at]?.p99Ms ?? NaN) / median(around);
}

function cleanP99Ms(phases: readonly IsolationPhase[]): number {
  return ofPhases(phases, 0, ({ p99Ms }) => p99Ms);
}

function phaseLines(hanging: number, { endpoints, laneLimit }: IsolationFigure, cleanMs: number | undefined): Line[] {
  const what = (name: string) => `isolation, ${shareOf(hanging, endpoints)}: ${name}`;
  const line = (name: string, unit: string, of: (phase: IsolationPhase) => number): Line => ({
    ...{ what: what(name), unit },
    of: ({ isolation }) => isolation && ofPhases(isolation.phases, hanging, of),
  });
  const common = [
    line('healthy p50', 'ms', ({ p50Ms }) => p50Ms),
    line('healthy p99', 'ms', ({ p99Ms }) => p99Ms),
    line('healthy, longest', 'ms', ({ maxMs }) => maxMs),
    line('healthy delivered', '% of offered', (phase) => (100 * phase.deliveredPerSecond) / phase.offeredPerSecond),
  ];
  if (hanging === 0) return common;
  const beside: Line = {
    ...{ what: what('healthy p99'), unit: '× clean around it' },
    of: ({ isolation }) => isolation && besideClean(isolation.phases, hanging),
    ...(cleanMs !== undefined && { goal: isolationGoal(cleanMs) }),
  };
  const connections = line('most connections to a hung endpoint', '', (phase) => phase.mostConnections);
  return [...common, beside, { ...connections, goal: { limit: laneLimit, is: 'most' } }];
}
