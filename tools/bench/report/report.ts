import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readable, spread } from '../arithmetic';
import { type Row, verdict } from './columns';
import { type Results, type Round, type WaitingPhase } from './figures';
import { describeRun, faultsOf, methodOf } from './notes';
import { plotsOf } from './plots';
import { processesTable } from './processes-table';
import { rowsOf } from './rows';
import { soakTable } from './soak-rows';
import { markdownTable, table } from './table';

/**
 * Writes the figures of all rounds as text for a terminal, and as a page of the documentation with
 * plots.
 */

const HEAD = ['figure', 'median', 'min to max', 'unit', 'goal', ''];
const CAPTIONS: Record<string, string> = {
  isolation: 'Healthy p99 by the share of endpoints that hang',
  cpu: 'CPU per webhook by service',
};

/** Returns the text for a terminal. Pure. */
export function report(results: Results): string {
  const faults = faultsOf(results);
  const indented = (lines: readonly string[]) => lines.map((line) => `  ${line}`);
  return [
    ...tablesOf(results).flatMap((rows) => [table(rows), '']),
    'Method',
    ...indented(methodOf(results)),
    ...(faults.length > 0 ? ['', 'Faults', ...indented(faults)] : []),
    '',
    ...describeRun(results),
  ].join('\n');
}

/** @param file ends in .md; the plots are written beside it */
export function writePage(file: string, results: Results): void {
  const name = basename(file, '.md');
  mkdirSync(dirname(file), { recursive: true });
  const images = [...plotsOf(results.rounds)].map(([plot, svg]) => {
    const image = `${name}-${plot}.svg`;
    writeFileSync(join(dirname(file), image), svg);
    return `![${CAPTIONS[plot] ?? plot}](${image})`;
  });
  writeFileSync(file, pageOf(results, images));
}

/** Returns the page as Markdown. Pure. */
export function pageOf(results: Results, images: readonly string[]): string {
  const faults = faultsOf(results);
  const list = (lines: readonly string[]) => lines.map((line) => `- ${line}`);
  return [
    '# Benchmarks',
    '',
    'Written by `npm run bench`. The goals come from the design. A figure is the median of ' +
      'the rounds.',
    '',
    ...list(describeRun(results)),
    '',
    ...images.flatMap((image) => [image, '']),
    ...tablesOf(results).flatMap((rows) => [markdownTable(rows), '']),
    '## Method',
    '',
    ...list(methodOf(results)),
    ...(faults.length > 0 ? ['', '## Faults', '', ...list(faults)] : []),
    '',
  ].join('\n');
}

/**
 * Returns the table of all figures, and those of the processes while deliveries wait and over a
 * soak if they were measured.
 */
function tablesOf({ rounds }: Results): string[][][] {
  const more = [processesTable(rounds), usageRows(rounds), soakTable(rounds)].filter(
    ({ length }) => length > 0,
  );
  return [[HEAD, ...rowsOf(rounds).flatMap((row) => cellsOf(row, rounds))], ...more];
}

/**
 * Returns the cells of a row: the median over the rounds, with the extremes; none without a
 * measurement.
 */
export function cellsOf({ title, unit, of, goal }: Row, rounds: readonly Round[]): string[][] {
  const figure = spread(rounds.map(of));
  if (!figure) return [];
  const range =
    figure.rounds > 1 ? `${readable(figure.min)} to ${readable(figure.max)}` : 'one run';
  const wanted = goal ? `${goal.is === 'most' ? '≤' : '≥'} ${readable(goal.limit)}` : '';
  return [
    [title, readable(figure.median), range, unit, wanted, goal ? verdict(figure.median, goal) : ''],
  ];
}

/**
 * Returns rows for memory and CPU of each process while deliveries wait, phase by phase, with
 * medians over the rounds; no rows without a measurement. Pure.
 */
export function usageRows(rounds: readonly Round[]): string[][] {
  const figures = rounds.flatMap(({ waiting }) => waiting ?? []);
  const phases = figures[0]?.phases ?? [];
  if (phases.length === 0) return [];
  const names = [...new Set(phases.flatMap(({ of }) => Object.keys(of)))];
  const cells = (pick: (phase: WaitingPhase) => number | undefined) =>
    phases.map((_, i) => {
      const value = spread(figures.map((figure) => figure.phases[i] && pick(figure.phases[i])));
      return value ? readable(value.median) : '';
    });
  return [
    ['while deliveries wait', ...phases.map(({ name }) => name)],
    ...names.flatMap((name) => [
      [`${name}: MB at the end`, ...cells(({ of }) => of[name]?.rssMb.last)],
      [`${name}: MB at most`, ...cells(({ of }) => of[name]?.rssMb.most)],
      [`${name}: cores`, ...cells(({ of }) => of[name]?.cores)],
    ]),
  ];
}
