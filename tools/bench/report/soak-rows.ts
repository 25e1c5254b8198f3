import { SERVICES } from '../../../bin/service-list';
import { readable, sum } from '../arithmetic';
import { first, most, type Row, rows } from './columns';
import { type Round } from './figures';
import { type SoakFigure } from './soak-figure';

/** The rows of a soak, and the table of its processes. Pure. */

/** Everything that an installation runs. */
const EVERYTHING = [...SERVICES, 'broker'];

/**
 * A process starts, compiles its code and fills its caches in the first sixth: ten minutes of an
 * hour.
 */
const BEGIN = 1 / 6;
const MARKS = [BEGIN, 1 / 2, 1];

/**
 * An hour moves a process by so much in both directions, because a garbage collector gives memory
 * back irregularly.
 */
const FLAT = { mb: 10, share: 0.05 };

export function soakRows(): Row[] {
  const per = (bytes: number, { minutes }: SoakFigure) => bytes / 1e6 / (minutes / 60);
  return rows('soak', (round) => round.soak, [
    [', control: most memory', 'MB', (soak) => mostOf(soak, 'control'), most(350)],
    [
      ', all together at the end',
      'MB',
      (s) => sum(EVERYTHING.map((name) => s.samples.at(-1)?.rssMb[name] ?? NaN)),
    ],
    [
      ', processes that grow',
      'processes',
      (soak) => EVERYTHING.filter((name) => !isFlat(soak, name)).length,
      most(0),
    ],
    [', logs of the services', 'MB/hour', (soak) => per(soak.logged.services, soak)],
    [', log of the broker', 'MB/hour', (soak) => per(soak.logged.broker, soak)],
    [', failed attempts', 'requests', ({ failed }) => failed],
    [', not delivered a minute after the end', 'webhooks', ({ undelivered }) => undelivered],
  ]);
}

/** Returns a row for each process of the first soak; no rows without one. */
export function soakTable(rounds: readonly Round[]): string[][] {
  const soak = first(rounds, (round) => round.soak);
  const marks = soak ? MARKS.flatMap((share) => sampleAt(soak, share) ?? []) : [];
  if (!soak || marks.length === 0) return [];
  const row = (name: string) => [
    name,
    ...marks.map(({ rssMb }) => readable(rssMb[name] ?? NaN)),
    readable(mostOf(soak, name)),
    readable(growthOf(soak, name)),
    isFlat(soak, name) ? 'flat' : 'grows',
    readable(sum(later(soak).map(({ cores }) => cores[name] ?? NaN)) / later(soak).length),
  ];
  return [
    [
      'soak',
      ...marks.map(({ minute }) => `MB at ${String(minute)} min`),
      'most',
      'MB/hour',
      '',
      'cores',
    ],
    ...EVERYTHING.map(row),
  ];
}

/**
 * Returns the growth of a process from the first mark on, MB an hour: the slope of least squares; 0
 * for one sample.
 */
export function growthOf(soak: SoakFigure, name: string): number {
  const points = later(soak).map(({ minute, rssMb }) => ({
    x: minute / 60,
    y: rssMb[name] ?? NaN,
  }));
  const mean = (pick: (point: { x: number; y: number }) => number) =>
    sum(points.map(pick)) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const spread = sum(points.map((point) => (point.x - x) ** 2));
  return spread === 0 ? 0 : sum(points.map((point) => (point.x - x) * (point.y - y))) / spread;
}

function isFlat(soak: SoakFigure, name: string): boolean {
  const before = sampleAt(soak, BEGIN)?.rssMb[name] ?? NaN;
  return growthOf(soak, name) <= Math.max(FLAT.mb, FLAT.share * before);
}

function mostOf(soak: SoakFigure, name: string): number {
  return Math.max(...later(soak).map(({ rssMb }) => rssMb[name] ?? NaN));
}

function later({ minutes, samples }: SoakFigure): SoakFigure['samples'] {
  return samples.filter(({ minute }) => minute >= minutes * BEGIN);
}

function sampleAt(
  { minutes, samples }: SoakFigure,
  share: number,
): SoakFigure['samples'][number] | undefined {
  return samples.find(({ minute }) => minute >= minutes * share);
}
