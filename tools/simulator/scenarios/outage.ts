import { defined } from '../../../shared/collections/defined';
import { readable } from '../../bench/arithmetic';
import { answers, badFrom, breaksAt, refuses } from '../endpoint';
import { type Line } from '../plot';
import { firstWaits, named, play, type Finding, type Options, type Scenario } from '../scenario';
import { type Ended } from '../world';

/**
 * One endpoint is down for an hour at 150 messages a second, and returns with barely enough
 * capacity.
 */

const PER_SECOND = 150;
const HOUR_MS = 3_600_000;
const FROM_MS = 60_000;
/**
 * A second outage is easy to cause: the endpoint breaks beyond this many parallel requests. It can
 * handle 4,000 a second.
 */
const BREAKS_AT = 200;
/** The largest interval between probes: until then new deliveries are still diverted. */
const NOTICED_MS = 15_000;
/**
 * With one short tier the appends grow with the square of the outage: a small part of the traffic
 * shows it as well.
 */
const PART = 200;
/** Time of the return that the plot shows, ms. */
const SHOWN_MS = 600_000;
const SLICE_MS = 1_000;
const APPENDS_SLICE_MS = 10_000;

interface Away {
  lastsMs: number;
  perSecond: number;
  tiersMs?: number[];
}

async function away(options: Options, { lastsMs, perSecond, tiersMs }: Away, name: string) {
  const to = FROM_MS + lastsMs;
  const label = (now: number) => {
    if (now < FROM_MS) return 'before';
    if (now < to) return 'during';
    return now < to + NOTICED_MS ? 'unnoticed' : 'after';
  };
  const spec = {
    seed: options.seed,
    trafficMs: to + 0.6 * lastsMs,
    sliceMs: SLICE_MS,
    destinations: [
      {
        id: 'gone',
        label,
        urls: [badFrom(FROM_MS, to, refuses, breaksAt(BREAKS_AT, 50))],
        perSecond,
      },
      { id: 'well', label: 'healthy', urls: [answers(50)], perSecond: perSecond / 10 },
    ],
    ...defined({ settings: tiersMs ? { tiersMs } : undefined }),
  };
  const ended = await play(spec, options, name);
  return { ended, to };
}

export const outage: Scenario = {
  name: 'outage',
  about: 'one endpoint at 150/s is away for an hour, and comes back; some four minutes to compute',
  async play(options) {
    const whole = options.short
      ? { lastsMs: 60_000, perSecond: 15 }
      : { lastsMs: HOUR_MS, perSecond: PER_SECOND };
    const part = options.short ? 1 : PART;
    const few = { ...whole, perSecond: whole.perSecond / part, tiersMs: [10_000] };
    const ladder = await away(options, whole, 'as configured');
    const shortest = await away(options, few, 'shortest tier only');
    const ladderAppends = appends(ladder.ended, ladder.to);
    const shortestAppends = appends(shortest.ended, shortest.to).map((count) => count * part);
    const findings = [
      ...ladder.ended.sound,
      ...hops(ladder.ended, 'as configured'),
      ...rates(ladderAppends, 'as configured'),
      ...shortest.ended.sound,
      ...hops(shortest.ended, 'shortest tier only'),
      ...rates(shortestAppends, 'shortest tier only'),
      ...recovery(ladder.ended, ladder.to),
    ];
    return {
      findings,
      plots: { ...plotOfAppends(ladderAppends, shortestAppends), ...plotOfReturn(ladder) },
    };
  },
};

/** Returns the appends a second, in each ten seconds of the outage. */
function appends({ figures }: Ended, to: number): number[] {
  const seconds = figures
    .course('appends')
    .values.slice(FROM_MS / SLICE_MS, Math.floor(to / SLICE_MS));
  return grouped(seconds, APPENDS_SLICE_MS / SLICE_MS);
}

function grouped(values: number[], size: number): number[] {
  const groups = Array.from({ length: Math.floor(values.length / size) }, (_, i) =>
    values.slice(i * size, (i + 1) * size),
  );
  return groups.map(mean);
}

function rates(perSecond: number[], name: string): Finding[] {
  // Each message costs an event and an append to a tier, and parked deliveries must not add more
  // than that again.
  const bounded = name === 'as configured' ? { goal: { most: 4 * PER_SECOND } } : {};
  return [
    { what: named(name, 'appends, mean of the outage'), value: mean(perSecond), unit: '1/s' },
    { what: named(name, 'appends, most of any 10 s'), value: Math.max(...perSecond), unit: '1/s' },
    {
      what: named(name, 'appends, last ten minutes of the outage'),
      value: mean(perSecond.slice(-60)),
      unit: '1/s',
      ...bounded,
    },
  ];
}

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
  const noticed =
    ended.turns.find(({ atMs, state }) => atMs >= to && state === 'closed')?.atMs ?? NaN;
  const lastAt = figures.counted('during: last ended at');
  const busiest = Math.max(
    ...figures.course('requests, during').values.slice(Math.floor(to / SLICE_MS)),
    0,
  );
  const openAgain =
    figures.counted('after: circuit open') + figures.counted('unnoticed: circuit open');
  return [
    {
      what: 'back: noticed after',
      value: (noticed - to) / 1_000,
      unit: 's',
      goal: { most: NOTICED_MS / 1_000 },
    },
    { what: 'back: circuits opened again', value: openAgain, goal: { most: 0 } },
    { what: 'back: requests of the backlog in its busiest second', value: busiest },
    {
      what: 'back: most requests open',
      value: figures.counted('during: most open'),
      goal: { most: BREAKS_AT },
    },
    ...firstWaits(ended, 'after', 'back and noticed: fresh messages'),
    ...firstWaits(ended, 'unnoticed', 'back and not noticed yet: fresh messages').slice(2),
    {
      what: 'back: last one of the outage ended after',
      value: (lastAt - to) / 60_000,
      unit: 'min',
    },
    { what: 'back: dead letters', value: figures.counted('during: dead'), goal: { most: 0 } },
    {
      what: 'healthy neighbour sent away',
      value: figures.counted('healthy: waits, lane_full'),
      goal: { most: 0 },
    },
  ];
}

function plotOfAppends(ladder: number[], shortest: number[]) {
  const lines: Line[] = [
    { name: 'tiers as configured', sliceMs: APPENDS_SLICE_MS, values: ladder },
    { name: 'shortest tier only', sliceMs: APPENDS_SLICE_MS, values: shortest },
  ];
  const title = 'Appends to Kafka for one endpoint away for an hour, at 150 messages a second';
  return { 'simulation-outage': { title, unit: 'appends a second', lines } };
}

/** Starts a minute before its return. */
function plotOfReturn({ ended: { figures }, to }: Awaited<ReturnType<typeof away>>) {
  const from = to - 60_000;
  const shown = (names: string[]) =>
    Array.from({ length: (60_000 + SHOWN_MS) / SLICE_MS }, (_, i) =>
      names.reduce(
        (sum, name) => sum + (figures.course(`requests, ${name}`).values[from / SLICE_MS + i] ?? 0),
        0,
      ),
    );
  const lines: Line[] = [
    {
      name: 'of messages of the outage',
      sliceMs: SLICE_MS,
      values: shown(['during', 'unnoticed']),
    },
    { name: 'of fresh messages', sliceMs: SLICE_MS, values: shown(['after']) },
  ];
  const title = 'Requests that reach the endpoint as it comes back (minute 1)';
  return { 'simulation-return': { title, unit: 'requests a second', lines } };
}

/** The growth of hops with the length of an outage. */
export const lengths: Scenario = {
  name: 'lengths',
  about: 'outages of 7.5 minutes to two hours at 15/s: hops and appends of a delivery',
  async play(options) {
    const minutes = options.short ? [1, 2] : [7.5, 15, 30, 60, 120];
    const table = [
      [
        'minutes away',
        'hops, mean',
        'hops, most',
        'appends a delivery',
        'last one ended after, min',
      ],
    ];
    const findings: Finding[] = [];
    for (const each of minutes) {
      const name = `${String(each)} min`;
      const { ended, to } = await away(
        options,
        { lastsMs: each * 60_000, perSecond: PER_SECOND / 10 },
        name,
      );
      const { figures } = ended;
      const all = figures.of('during: hops');
      const lastMin = (figures.counted('during: last ended at') - to) / 60_000;
      const perDelivery = figures.counted('appends') / ended.born;
      table.push([
        name,
        readable(all.mean),
        readable(all.percentile(1)),
        readable(perDelivery),
        readable(lastMin),
      ]);
      findings.push(...ended.sound.filter(({ goal }) => goal));
    }
    return { findings, table };
  },
};

function mean(values: number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}
