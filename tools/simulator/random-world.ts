import { randomOf, type Random } from '../harness/random';
import { type Act, type TimedAct } from './acts';
import {
  answers,
  badFrom,
  breaksAt,
  failsSometimes,
  flaps,
  hangs,
  refuses,
  throttles,
  works,
  type Behaviour,
} from './endpoint';
import { type WorldSpec } from './world';

/**
 * Random small worlds: endpoints of all kinds, several URLs, few sockets, frozen processes; users
 * who pause, send now, cancel and replay; partitions that move, cut logs, one clock that is wrong.
 */

const TIERS_MS = [
  [1_000, 2_000],
  [1_000, 10_000, 30_000],
  [10_000, 60_000, 300_000, 900_000, 1_800_000],
];
/** Minutes instead of hours, so that the end of a window happens in each world. */
const WINDOW_MS = 60_000;
const TRAFFIC_MS = 2_000;
/** In a third of the worlds the process freezes for up to this time, ms. */
const LONGEST_FREEZE_MS = 20_000;
const SLOWEST_MS = 4_800;
const PARTITIONS = 12;
const PROCESSES = 2;
const MOST_ACTS = 30;
const LONGEST_PAUSE_MS = 20_000;
/** Of a clock's step, either way. */
const GREATEST_STEP_MS = 75_000;
const USERS = 8;

export function mix(seed: number): WorldSpec {
  const random = randomOf(seed);
  const destinations = Array.from({ length: random.between(1, 5) }, (_, i) => ({
    id: `d${String(i)}`,
    label: 'all',
    perSecond: random.between(0, 20),
    urls: Array.from({ length: random.between(1, 3) }, () => behaviour(random)),
    bursts: [{ atMs: 1_000, count: random.between(0, 150) }],
  }));
  const total = random.between(5, 100);
  const settings = {
    tiersMs: random.one(TIERS_MS),
    windowMs: WINDOW_MS,
    pool: { total, reserve: Math.floor(total / 10) },
  };
  const ms = random.one([0, 0, random.between(1, LONGEST_FREEZE_MS)]);
  const freezes = ms > 0 ? [{ process: 0, atMs: TRAFFIC_MS, ms }] : [];
  const deletions = Array.from({ length: random.between(0, 5) }, () => ({
    user: random.between(0, USERS - 1),
    atMs: random.between(500, WINDOW_MS),
  }));
  const fromMs = random.between(0, WINDOW_MS);
  const deletionsAway = { fromMs, toMs: fromMs + random.one([0, 0, random.between(1, 20_000)]) };
  return {
    seed,
    destinations,
    trafficMs: TRAFFIC_MS,
    settings,
    freezes,
    partitions: PARTITIONS,
    processes: { count: PROCESSES, simulated: PROCESSES },
    retries: PROCESSES,
    acts: [
      ...Array.from({ length: random.between(0, MOST_ACTS) }, () =>
        someAct(random, random.one(destinations).id),
      ).flat(),
      ...clockStep(random),
    ],
    users: USERS,
    deletions,
    deletionsAway,
    history: true,
  };
}

/** In half of the worlds one clock is wrong from some moment on. */
function clockStep(random: Random): TimedAct[] {
  const byMs = random.between(-GREATEST_STEP_MS, GREATEST_STEP_MS);
  const of = random.one(['delivery', 'retry', 'brokers'] as const);
  const atMs = random.between(0, WINDOW_MS);
  return random.one([true, false]) ? [{ kind: 'clock', of, byMs, atMs }] : [];
}

function someAct(random: Random, destination: string): TimedAct[] {
  const atMs = random.between(0, WINDOW_MS);
  const partition = random.between(0, PARTITIONS - 1);
  const act = random.one<Act>([
    { kind: 'pause', destination },
    { kind: 'send_now', destination, all: random.one([true, false]) },
    { kind: 'cancel', destination, all: random.one([true, false]) },
    { kind: 'replay', most: random.between(1, 20) },
    { kind: 'move', group: 'delivery', partition },
    { kind: 'move', group: 'retry', partition },
    { kind: 'cut', topic: random.between(0, 9), partition, most: random.between(1, 20) },
  ]);
  if (act.kind !== 'pause') return [{ ...act, atMs }];
  const pausedMs = random.between(1, LONGEST_PAUSE_MS);
  return [
    { ...act, atMs },
    { kind: 'resume', destination, atMs: atMs + pausedMs },
  ];
}

/** Returns one behaviour, or two: alternating, or bad for a while. */
function behaviour(random: Random): Behaviour {
  const [one, other] = [simple(random), simple(random)];
  const from = random.between(0, 10_000);
  return random.one([
    one,
    badFrom(from, from + random.between(0, WINDOW_MS), one, other),
    flaps(random.between(1, 9_000), random.between(1, 9_000), one, other),
  ]);
}

function simple(random: Random): Behaviour {
  const ms = random.between(1, SLOWEST_MS);
  const few = random.between(1, 30);
  return random.one([
    answers(ms),
    answers(ms, random.one([404, 408, 410, 422, 500, 503])),
    hangs,
    refuses,
    failsSometimes(random.next(), ms),
    works(few, ms),
    breaksAt(few, ms),
    throttles(few, random.between(0, 5_000)),
  ]);
}
