import { answers, badFrom, breaksAt, refuses } from '../endpoint';
import { firstWaits, named, play, type Finding, type Options, type Scenario } from '../scenario';
import { type Line } from '../plot';
import { type Ended } from '../world';

/** One endpoint is away for an hour at 150 messages a second, and comes back able to do no more than it must. */

const PER_SECOND = 150;
/** With one short tier the appends grow with the square of the outage: a part of the traffic shows it as well. */
const PART = 50;
const HOUR_MS = 3_600_000;
/** A second outage is easy to cause: more than so many at once and it breaks. It can do 4,000 a second. */
const BREAKS_AT = 200;
/** Probes are at most so far apart: until then what comes is still sent away. */
const NOTICED_MS = 15_000;
const TITLE = 'Appends to Kafka for one endpoint away for an hour, at 150 messages a second';

async function away(options: Options, { tiersMs, part }: { tiersMs?: number[]; part: number }, name: string) {
  const [from, lasts] = options.short ? [10_000, 120_000] : [60_000, HOUR_MS];
  const to = from + lasts;
  const label = (now: number) => {
    if (now < from) return 'before';
    if (now < to) return 'during';
    return now < to + NOTICED_MS ? 'unnoticed' : 'after';
  };
  const perSecond = (options.short ? PER_SECOND / 10 : PER_SECOND) / part;
  const spec = {
    ...{ seed: options.seed, trafficMs: to + 0.6 * lasts, sliceMs: 10_000 },
    destinations: [
      { id: 'gone', label, urls: [badFrom(from, to, refuses, breaksAt(BREAKS_AT, 50))], perSecond },
      { id: 'well', label: 'healthy', urls: [answers(50)], perSecond: perSecond / 10 },
    ],
    ...(tiersMs ? { settings: { tiersMs } } : {}),
  };
  const ended = await play(spec, options, name);
  const appends = ended.figures.course('appends').values.slice(Math.floor(from / 10_000), Math.floor(to / 10_000));
  return { ended, perSecond: appends.map((count) => (count / 10) * part), to };
}

export const outage: Scenario = {
  name: 'outage',
  about: 'one endpoint at 150/s is away for an hour, and comes back',
  async play(options) {
    const ladder = await away(options, { part: 1 }, 'as configured');
    const shortest = await away(options, { tiersMs: [10_000], part: options.short ? 1 : PART }, 'shortest tier only');
    const findings: Finding[] = [];
    for (const [name, { ended, perSecond }] of [
      ['as configured', ladder],
      ['shortest tier only', shortest],
    ] as const) {
      findings.push(
        ...ended.sound,
        ...hops(ended, name),
        { what: `${name}: appends, most of 10 s`, value: Math.max(...perSecond), unit: '1/s' },
        { what: `${name}: appends, last minute of the outage`, value: mean(perSecond.slice(-6)), unit: '1/s' },
      );
    }
    findings.push(...recovery(ladder.ended, ladder.to));
    return { findings, plots: plotsOf(ladder, shortest) };
  },
};

function hops({ figures }: Ended, name: string): Finding[] {
  const all = figures.of('during: hops');
  const bounded = name === 'as configured' ? { goal: { most: 20 } } : {};
  return [
    { what: named(name, 'hops of a delivery, p50'), value: all.percentile(0.5) },
    { what: named(name, 'hops of a delivery, most'), value: all.percentile(1), ...bounded },
  ];
}

function recovery(ended: Ended, to: number): Finding[] {
  const { figures } = ended;
  const noticed = ended.turns.find(({ atMs, state }) => atMs >= to && state === 'closed')?.atMs ?? NaN;
  return [
    { what: 'back: noticed after', value: (noticed - to) / 1_000, unit: 's', goal: { most: NOTICED_MS / 1_000 } },
    { what: 'back: circuits opened again', value: figures.counted('after: circuit open'), goal: { most: 0 } },
    ...firstWaits(ended, 'after', 'back and noticed: fresh messages'),
    ...firstWaits(ended, 'unnoticed', 'back and not noticed yet: fresh messages').slice(2),
    { what: 'back: last one of the outage ended after', value: lastOfOutage(ended, to), unit: 'min' },
    { what: 'back: dead letters', value: figures.counted('during: dead'), goal: { most: 0 } },
    { what: 'healthy neighbour sent away', value: figures.counted('healthy: waits, lane_full'), goal: { most: 0 } },
  ];
}

function lastOfOutage({ figures }: Ended, to: number): number {
  return (figures.counted('during: last ended at') - to) / 60_000;
}

function plotsOf(ladder: Awaited<ReturnType<typeof away>>, shortest: Awaited<ReturnType<typeof away>>) {
  const appends: Line[] = [
    { name: 'tiers as configured', sliceMs: 10_000, values: ladder.perSecond },
    { name: 'shortest tier only', sliceMs: 10_000, values: shortest.perSecond },
  ];
  return { 'simulation-outage': { title: TITLE, unit: 'appends a second', lines: appends } };
}

function mean(values: number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}
