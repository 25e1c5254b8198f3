import { randomOf } from '../../harness/random';
import { answers, flaps, hangs, throttles, type Behaviour } from '../endpoint';
import { firstWaits, play, type Scenario } from '../scenario';
import { type DestinationSpec } from '../world';

/**
 * 100,000 webhooks a second for 10,000 endpoints, 5 % of them always unhealthy, over twenty
 * delivery processes. The simulation runs one of the twenty with its whole load, because processes
 * share only Kafka.
 */

const PER_SECOND = 100_000;
const ENDPOINTS = 10_000;
const PROCESSES = 20;
/** Each process has twelve, and some of the four shards of a destination fall on them. */
const PARTITIONS = 240;
const SICK = 0.05;

/**
 * The behaviours of unhealthy endpoints, in rotation. A throttled one accepts a third of its
 * traffic.
 */
const TROUBLES: ((perSecond: number) => Behaviour)[] = [
  () => hangs,
  () => () => ({ kind: 'status', afterMs: 4_850, status: 200 }),
  () => answers(30, 500),
  (perSecond) => throttles(Math.max(1, perSecond / 3), 5),
  () => flaps(60_000, 60_000, hangs, answers(50)),
];

/** A few have most of the traffic: the busiest gets about 1,000 a second. */
function shares(count: number): number[] {
  const raw = Array.from({ length: count }, (_, i) => 1 / (i + 20) ** 0.75);
  const all = raw.reduce((a, b) => a + b, 0);
  return raw.map((share) => share / all);
}

function destinations(seed: number, endpoints: number, perSecond: number): DestinationSpec[] {
  const random = randomOf(seed);
  let sick = 0;
  return shares(endpoints).map((share, i) => {
    const rate = share * perSecond;
    const trouble = random.next() < SICK ? TROUBLES[sick++ % TROUBLES.length] : undefined;
    return {
      id: `d${String(i)}`,
      perSecond: rate,
      label: trouble ? 'sick' : 'healthy',
      urls: [trouble ? trouble(rate) : answers(random.between(20, 300))],
    };
  });
}

export const scale: Scenario = {
  name: 'scale',
  about:
    '100,000/s for 10,000 endpoints, 5 % sick, over 20 processes: one of them with its whole share',
  async play(options) {
    const [endpoints, perSecond, trafficMs] = options.short
      ? [ENDPOINTS / 20, PER_SECOND / 20, 5_000]
      : [ENDPOINTS, PER_SECOND, 180_000];
    const spec = {
      seed: options.seed,
      destinations: destinations(options.seed, endpoints, perSecond),
      trafficMs,
      untilMs: trafficMs,
      processes: { count: options.short ? PROCESSES / 4 : PROCESSES, simulated: 1 },
      partitions: PARTITIONS,
    };
    const ended = await play(spec, options, 'scale');
    const { figures, born } = ended;
    const away = (label: string) =>
      (figures.counted(`${label}: waits, circuit_open`) +
        figures.counted(`${label}: waits, lane_full`)) /
      figures.counted(`${label}: born`);
    const open = figures.course('open').values.filter((value) => value > 0);
    return {
      findings: [
        ...ended.sound,
        { what: 'rate of the process', value: born / (trafficMs / 1_000), unit: '1/s' },
        ...firstWaits(ended, 'healthy').map((each) =>
          each.what.endsWith('p99') ? { ...each, goal: { most: 20 } } : each,
        ),
        {
          what: 'healthy: sent away',
          value: 100 * away('healthy'),
          unit: '%',
          goal: { most: 0.1 },
        },
        { what: 'sick: waits without an attempt, a delivery', value: away('sick') },
        {
          what: 'circuits of healthy endpoints opened',
          value: figures.counted('healthy: circuit open'),
          goal: { most: 0 },
        },
        { what: 'most requests open', value: figures.counted('most open'), goal: { most: 2_000 } },
        {
          what: 'requests open, usual',
          value: open.sort((a, b) => a - b)[Math.floor(open.length / 2)] ?? NaN,
        },
        {
          what: 'most bytes of bodies held',
          value: figures.counted('most bytes held') / 1_048_576,
          unit: 'MB',
          goal: { most: 128 },
        },
        { what: 'appends', value: figures.course('appends').most, unit: '1/s, most' },
      ],
    };
  },
};
