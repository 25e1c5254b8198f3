import { SERVICES } from '../../../bin/service-list';
import { readable, spread } from '../arithmetic';
import { first, micros } from './columns';
import { type PipelineFigure, type Round } from './figures';

/** The table by number of processes. Pure. */

const LOOPS = [
  ['batches of 100', 'batches'],
  ['single calls', 'singles'],
] as const;

/**
 * Returns throughput and CPU-µs a webhook of each service by the number of processes, medians over
 * the rounds; no rows without a measurement.
 */
export function processesTable(rounds: readonly Round[]): string[][] {
  const cases = first(rounds, ({ processes }) => processes?.cases) ?? [];
  if (cases.length === 0) return [];
  const cells = (
    loop: 'batches' | 'singles',
    pick: (figure: PipelineFigure) => number | undefined,
  ) =>
    cases.map((_, i) => {
      const value = spread(
        rounds.map(({ processes }) => {
          const figure = processes?.cases[i]?.[loop];
          return figure && pick(figure);
        }),
      );
      return value ? readable(value.median) : '';
    });
  return [
    [
      'processes of ingest, router and delivery',
      ...cases.map(({ processes }) => `${String(processes)} each`),
    ],
    ...LOOPS.flatMap(([title, loop]) => [
      [`${title}: webhooks/s`, ...cells(loop, ({ perSecond }) => perSecond)],
      [
        `${title}: all, CPU-µs/webhook`,
        ...cells(loop, (figure) => micros(figure, ...SERVICES, 'broker')),
      ],
      ...[...SERVICES, 'broker'].map((name) => [
        `${title}: ${name}, CPU-µs/webhook`,
        ...cells(loop, (figure) => micros(figure, name)),
      ]),
      [`${title}: not delivered`, ...cells(loop, ({ missing }) => missing)],
    ]),
  ];
}
