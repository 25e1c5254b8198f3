import { median, ratio } from '../arithmetic';
import { MATCHING, PLAIN, UNUSED } from '../cases/filters';
import { type Column, first, micros, microsOf, most, PER_MESSAGE, type Row, rows } from './columns';
import { type AudiencesFigure, type FiltersFigure, type Round } from './figures';

/** The rows for filters and audiences. Pure. */

export function filterRows(rounds: readonly Round[]): Row[] {
  const cases = first(rounds, (round) => round.filters)?.cases ?? [];
  return cases.flatMap(({ name }) => {
    const all: Column<FiltersFigure>[] = [
      ['', PER_MESSAGE, (f) => median(turnsOf(f, name))],
      [
        '',
        `× ${PLAIN}`,
        (f) => median(besidePlain(f, name, ratioOf)),
        name === UNUSED ? most(1.05) : undefined,
      ],
      [
        ': one filter',
        'CPU-µs',
        (f) => median(besidePlain(f, name, (with_, without) => (with_ - without) / f.destinations)),
      ],
    ];
    const shown = name === PLAIN ? 1 : MATCHING.includes(name) ? 3 : 2;
    return rows(`router, ${name}`, (round) => round.filters, all.slice(0, shown));
  });
}

const ratioOf = (value: number, yardstick: number) => value / yardstick;

/** Compares each turn of a case with the plain case of the same turn. */
function besidePlain(
  figure: FiltersFigure,
  name: string,
  compare: (with_: number, without: number) => number,
) {
  const without = turnsOf(figure, PLAIN);
  return turnsOf(figure, name).map((value, turn) => compare(value, without[turn] ?? NaN));
}

function turnsOf({ cases }: FiltersFigure, name: string): number[] {
  return (cases.find((each) => each.name === name)?.turns ?? []).map(
    (turn) => micros(turn, 'router') ?? NaN,
  );
}

const MB = 1024 * 1024;

export function audienceRows(): Row[] {
  return rows('audiences', (round) => round.audiences, [
    [': users', 'users', (a) => a.users],
    [', the router over the same messages', 'messages/s', (a) => a.router.perSecond],
    [', the router over the same messages', PER_MESSAGE, (a) => micros(a.router, 'router')],
    [': counted', 'messages/s', (a) => a.counting.perSecond],
    [': counted', PER_MESSAGE, (a) => micros(a.counting, 'audiences')],
    [
      ': counted',
      '× router',
      (a) => ratio(micros(a.counting, 'audiences'), micros(a.router, 'router')),
      most(3),
    ],
    [': counted, per core', 'messages/s', (a) => ratio(1e6, micros(a.counting, 'audiences'))],
    [': counted, broker', PER_MESSAGE, (a) => micros(a.counting, 'broker')],
    [': counted, first fifth', 'messages/s', (a) => a.fifths[0]],
    [': counted, last fifth', 'messages/s', (a) => a.fifths.at(-1)],
    [': first sync', 's', (a) => a.firstSync.seconds],
    [': first sync, users looked at', 'users/s', (a) => a.users / a.firstSync.seconds],
    [': first sync, calls made', 'calls/s', (a) => a.firstSync.told / a.firstSync.seconds],
    [
      ': first sync',
      'CPU-µs/call',
      (a) => microsOf(a.firstSync.cpu, ['audiences'], a.firstSync.told),
    ],
    [': restored without its store', 's', (a) => a.restore.seconds],
    [': restored without its store', 'records/s', (a) => a.restore.records / a.restore.seconds],
    [': new messages, syncs running', 'messages/s', (a) => a.traffic.perSecond],
    [': new messages, syncs running', PER_MESSAGE, (a) => micros(a.traffic, 'audiences')],
    [': idle', 'cores', (a) => a.idleCores],
    ...memoryColumns('counting', 'counting'),
    ...memoryColumns('first sync', 'firstSync'),
    ...memoryColumns('restoring', 'restore'),
    ...memoryColumns('new messages', 'traffic'),
    [': store', 'MB', (a) => a.storeBytes / MB],
    [': store', 'bytes/user', (a) => a.storeBytes / a.users],
    [
      ': changelog, as far as it is compacted',
      'MB',
      (a) => a.changelogBytes && a.changelogBytes / MB,
    ],
  ]);
}

function memoryColumns(
  words: string,
  phase: keyof AudiencesFigure['memory'],
): Column<AudiencesFigure>[] {
  return [
    [`, ${words}: process memory, peak`, 'MB', (a) => a.memory[phase].ownMb],
    [`, ${words}: resident, including files`, 'MB', (a) => a.memory[phase].rssMb],
  ];
}
