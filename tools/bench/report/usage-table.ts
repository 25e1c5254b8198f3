import { readable, spread } from '../arithmetic';
import { type Round, type WaitingPhase } from './figures';

/**
 * Returns rows for memory and CPU of each process while deliveries wait, phase by phase, with medians over the
 * rounds; no rows without a measurement. Pure.
 */
export function usageRows(rounds: readonly Round[]): string[][] {
  const figures = rounds.flatMap(({ waiting }) => waiting ?? []);
  const phases = figures[0]?.phases ?? [];
  if (phases.length === 0) return [];
  const names = [...new Set(phases.flatMap(({ of }) => Object.keys(of)))];
  const median = (i: number, pick: (phase: WaitingPhase) => number | undefined) => {
    const value = spread(figures.map((figure) => figure.phases[i] && pick(figure.phases[i])));
    return value ? readable(value.median) : '';
  };
  const cells = (pick: (phase: WaitingPhase) => number | undefined) => phases.map((_, i) => median(i, pick));
  return [
    ['while deliveries wait', ...phases.map(({ name }) => name)],
    ...names.flatMap((name) => [
      [`${name}: MB at the end`, ...cells(({ of }) => of[name]?.rssMb.last)],
      [`${name}: MB at most`, ...cells(({ of }) => of[name]?.rssMb.most)],
      [`${name}: cores`, ...cells(({ of }) => of[name]?.cores)],
    ]),
  ];
}
