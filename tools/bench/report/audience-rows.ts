import { median, ratio } from '../arithmetic';
import { microsOf } from './cost-rows';
import { type DrainFigure } from '../drain';
import { type AudiencesFigure, type FiltersFigure, type Round } from './figures';
import { MATCHING, PLAIN, UNUSED } from '../cases/filters';
import { GOALS } from './goals';
import { type Line } from './row';
import { type PreviewFigure } from '../cases/previews';

/** The rows of the table for filters and audiences. Pure. */

const MB = 1024 * 1024;

export function audienceLines(rounds: readonly Round[]): Line[] {
  const [filters] = rounds.flatMap((round) => round.filters ?? []);
  const [audiences] = rounds.flatMap((round) => round.audiences ?? []);
  return [...(filters?.cases ?? []).flatMap(({ name }) => caseLines(name)), ...serviceLines(audiences?.previews ?? [])];
}

function caseLines(name: string): Line[] {
  const what = `router, ${name}`;
  const micros: Line = {
    what,
    unit: 'CPU-µs/message',
    of: ({ filters }) => filters && median(microsOfCase(filters, name)),
  };
  if (name === PLAIN) return [micros];
  const beside: Line = {
    what,
    unit: `× ${PLAIN}`,
    of: ({ filters }) => filters && overPlain(filters, name, (with_, without) => with_ / without),
    ...(name === UNUSED && { goal: GOALS.unusedRatio }),
  };
  const each: Line = {
    what: `${what}: one filter`,
    unit: 'CPU-µs',
    of: ({ filters: f }) => f && overPlain(f, name, (with_, without) => (with_ - without) / f.destinations),
  };
  return MATCHING.includes(name) ? [micros, beside, each] : [micros, beside];
}

/** Returns the median over the turns of a case, relative to the plain case of the same turn. */
function overPlain(figure: FiltersFigure, name: string, compare: (with_: number, without: number) => number): number {
  const without = microsOfCase(figure, PLAIN);
  return median(microsOfCase(figure, name).map((micros, turn) => compare(micros, without[turn] ?? NaN)));
}

function microsOfCase({ cases }: FiltersFigure, name: string): number[] {
  const turns = cases.find((each) => each.name === name)?.turns ?? [];
  return turns.map(({ cpu, count }) => microsOf(cpu, ['router'], count) ?? NaN);
}

function serviceLines(previews: readonly PreviewFigure[]): Line[] {
  const line = (what: string, unit: string, of: (figure: AudiencesFigure) => number | undefined): Line => ({
    what: `audiences${what}`,
    unit,
    of: ({ audiences }) => audiences && of(audiences),
  });
  const micros = (figure: DrainFigure, name: string) => microsOf(figure.cpu, [name], figure.count);
  const perCore = (figure: DrainFigure, name: string) => ratio(1e6, micros(figure, name));
  return [
    line(': users', 'users', (a) => a.users),
    line(', the router over the same messages', 'messages/s', (a) => a.router.perSecond),
    line(', the router over the same messages', 'CPU-µs/message', (a) => micros(a.router, 'router')),
    line(': counted', 'messages/s', (a) => a.counting.perSecond),
    line(': counted', 'CPU-µs/message', (a) => micros(a.counting, 'audiences')),
    {
      ...line(': counted', '× router', (a) => ratio(micros(a.counting, 'audiences'), micros(a.router, 'router'))),
      goal: GOALS.audiencesRatio,
    },
    line(': counted, per core', 'messages/s', (a) => perCore(a.counting, 'audiences')),
    line(': counted, broker', 'CPU-µs/message', (a) => micros(a.counting, 'broker')),
    line(': counted, first fifth', 'messages/s', (a) => a.fifths[0]),
    line(': counted, last fifth', 'messages/s', (a) => a.fifths.at(-1)),
    line(': first sync', 's', (a) => a.firstSync.seconds),
    line(': first sync, users looked at', 'users/s', (a) => a.users / a.firstSync.seconds),
    line(': first sync, calls made', 'calls/s', (a) => a.firstSync.told / a.firstSync.seconds),
    line(': first sync', 'CPU-µs/call', (a) => microsOf(a.firstSync.cpu, ['audiences'], a.firstSync.told)),
    line(': restored without its store', 's', (a) => a.restore.seconds),
    line(': restored without its store', 'records/s', (a) => a.restore.records / a.restore.seconds),
    line(': new messages, syncs running', 'messages/s', (a) => a.traffic.perSecond),
    line(': new messages, syncs running', 'CPU-µs/message', (a) => micros(a.traffic, 'audiences')),
    line(': idle', 'cores', (a) => a.idleCores),
    ...previewLines(line, previews),
    ...memoryLines(line),
    line(': store', 'MB', (a) => a.storeBytes / MB),
    line(': store', 'bytes/user', (a) => a.storeBytes / a.users),
    line(': changelog, as far as it is compacted', 'MB', (a) => a.changelogBytes && a.changelogBytes / MB),
  ];
}

function previewLines(line: MakeLine, previews: readonly PreviewFigure[]): Line[] {
  return previews.flatMap(({ what }) => {
    const of = (a: AudiencesFigure) => a.previews.find((each) => each.what === what);
    return [
      line(`: preview ${what}, first figure`, 's', (a) => of(a)?.firstSeconds),
      line(`: preview ${what}, whole`, 's', (a) => of(a)?.seconds),
      line(`: preview ${what}, users looked at`, 'users', (a) => of(a)?.looked),
    ];
  });
}

type MakeLine = (what: string, unit: string, of: (figure: AudiencesFigure) => number | undefined) => Line;

function memoryLines(line: MakeLine): Line[] {
  const phases = [
    ['counting', 'counting'],
    ['first sync', 'firstSync'],
    ['restoring', 'restore'],
    ['new messages', 'traffic'],
  ] as const;
  return phases.flatMap(([words, phase]) => [
    line(`, ${words}: process memory, peak`, 'MB', (a) => a.memory[phase].ownMb),
    line(`, ${words}: resident, including files`, 'MB', (a) => a.memory[phase].rssMb),
  ]);
}
