import { answers, badFrom, breaksAt, refuses } from '../endpoint';
import { firstWaits, play, type Finding, type Scenario } from '../scenario';
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
const SLICE_MS = 1_000;
const APPENDS_SLICE_MS = 10_000;

export const outage: Scenario = {
  name: 'outage',
  about: 'one endpoint at 150/s is away for an hour, and comes back; some four minutes to compute',
  async play(options) {
    const { lastsMs, perSecond } = options.short
      ? { lastsMs: 60_000, perSecond: 15 }
      : { lastsMs: HOUR_MS, perSecond: PER_SECOND };
    const to = FROM_MS + lastsMs;
    const label = (now: number) => {
      if (now < FROM_MS) return 'before';
      if (now < to) return 'during';
      return now < to + NOTICED_MS ? 'unnoticed' : 'after';
    };
    const gone = {
      id: 'gone',
      label,
      urls: [badFrom(FROM_MS, to, refuses, breaksAt(BREAKS_AT, 50))],
      perSecond,
    };
    const well = { id: 'well', label: 'healthy', urls: [answers(50)], perSecond: perSecond / 10 };
    const ended = await play(
      {
        seed: options.seed,
        trafficMs: to + 0.6 * lastsMs,
        sliceMs: SLICE_MS,
        destinations: [gone, well],
      },
      options,
    );
    return {
      findings: [
        ...ended.sound,
        ...hops(ended),
        ...rates(appends(ended, to)),
        ...recovery(ended, to),
      ],
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

function rates(perSecond: number[]): Finding[] {
  return [
    { what: 'appends, mean of the outage', value: mean(perSecond), unit: '1/s' },
    { what: 'appends, most of any 10 s', value: Math.max(...perSecond), unit: '1/s' },
    {
      what: 'appends, last ten minutes of the outage',
      value: mean(perSecond.slice(-60)),
      unit: '1/s',
      // Each message costs an event and an append to a tier, and parked deliveries must not add
      // more than that again.
      goal: { most: 4 * PER_SECOND },
    },
  ];
}

function hops({ figures }: Ended): Finding[] {
  const all = figures.of('during: hops');
  return [
    { what: 'hops of a delivery, p50', value: all.percentile(0.5) },
    { what: 'hops of a delivery, most', value: all.percentile(1), goal: { most: 20 } },
  ];
}

function recovery(ended: Ended, to: number): Finding[] {
  const { figures } = ended;
  const noticed =
    ended.circuitChanges.find(({ atMs, state }) => atMs >= to && state === 'closed')?.atMs ?? NaN;
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

function mean(values: number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}
