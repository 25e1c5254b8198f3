import { readable, spread } from '../arithmetic';
import { type Round } from './figures';
import { type Goal, verdict } from './goals';

/** One row of the table: the median over the rounds, with the extremes. */
export interface Line {
  what: string;
  unit: string;
  of: (round: Round) => number | undefined;
  goal?: Goal;
}

export const HEAD = ['figure', 'median', 'min to max', 'unit', 'goal', ''];

/** Returns the cells below `HEAD`; no row without a measurement. */
export function row({ what, unit, of, goal }: Line, rounds: readonly Round[]): string[][] {
  const figure = spread(rounds.map(of));
  if (!figure) return [];
  const range = figure.rounds > 1 ? `${readable(figure.min)} to ${readable(figure.max)}` : 'one run';
  const wanted = goal ? `${goal.is === 'most' ? '≤' : '≥'} ${readable(goal.limit)}` : '';
  return [[what, readable(figure.median), range, unit, wanted, goal ? verdict(figure.median, goal) : '']];
}
