import { type EarlySize } from './cases/early';
import { type FiltersSize } from './cases/filters';
import { type HostileSize } from './cases/hostile';
import { type HttpsSize } from './cases/https';
import { type IsolationSize } from './cases/isolation';
import { type LedgerSize } from './cases/ledger';
import { type LoadCurveSize } from './cases/load-curve';
import { type LoopSize } from './cases/pipeline';
import { type ProcessesSize } from './cases/processes';
import { type RollingSize } from './cases/rolling';
import { type SoakSize } from './cases/soak';
import { type UsageSize } from './cases/usage';
import { type WaitingSize } from './cases/waiting';

/**
 * The size of each part of `npm run bench`. Each warm-up is long enough for V8 and the JVM to
 * compile the measured code, because production processes live for weeks and their first seconds
 * cost twice as much. (The report also has the cost from the first POST on.)
 */

export interface Sizes {
  bare: { warmUp: number; count: number };
  delivery: { warmUp: number; count: number };
  https: HttpsSize;
  batches: LoopSize;
  singles: LoopSize;
  ledger: LedgerSize;
  load: LoadCurveSize;
  processes: ProcessesSize;
  rolling: RollingSize;
  isolation: IsolationSize;
  waiting: WaitingSize;
  early: EarlySize;
  filters: FiltersSize;
  hostile: HostileSize;
  usage: UsageSize;
  soak: SoakSize;
}

const BATCHES = { callsPerRequest: 100, connections: 8 };
const SINGLES = { callsPerRequest: 1, connections: 32 };
const SELDOM = { endpoints: 1_000, rounds: 3, roundSeconds: 10 };

/** More than an hour with three rounds. */
export const WHOLE: Sizes = {
  bare: { warmUp: 30_000, count: 50_000 },
  delivery: { warmUp: 30_000, count: 70_000 },
  https: {
    bare: { warmUp: 15_000, count: 25_000 },
    busy: { warmUp: 15_000, count: 35_000 },
    ...SELDOM,
  },
  batches: { warmUp: 30_000, count: 60_000, ...BATCHES },
  singles: { warmUp: 15_000, count: 30_000, ...SINGLES },
  ledger: { settleSeconds: 30, seconds: 30, warmUp: 3_000, fullSpeed: 10_000 },
  load: {
    settleSeconds: 120,
    seconds: 30,
    warmUp: 9_000,
    rates: [50, 200, 500, 1_000, 1_500, 2_500, 4_000],
  },
  processes: {
    counts: [1, 2, 4],
    batches: { warmUp: 30_000, count: 60_000, ...BATCHES },
    singles: { warmUp: 15_000, count: 30_000, ...SINGLES },
  },
  rolling: { perSecond: 1_500, warmUpSeconds: 30, seconds: 10 },
  isolation: {
    endpoints: 100,
    hanging: [1, 10, 50],
    hostile: 10,
    seconds: 60,
    warmUpSeconds: 60,
    loadPercent: 30,
    capacity: { warmUp: 5_000, count: 10_000, ...SINGLES },
  },
  waiting: {
    count: 1_000_000,
    perSecond: 200,
    seconds: 30,
  },
  early: { count: 100_000, perSecond: 200, warmUpSeconds: 60, seconds: 60 },
  hostile: { loadPercent: 30, perSecond: 50, capacitySeconds: 20, seconds: 30 },
  filters: { destinations: 3, warmUp: 15_000, count: 30_000, turns: 3 },
  usage: {
    destinations: 30_000,
    busy: 3_000,
    perSecond: 300,
    consoles: 10,
    warmUpSeconds: 60,
    seconds: 60,
  },
  soak: { minutes: 60, perSecond: 440, endpoints: 4, failsEvery: 50 },
};

/**
 * About ten minutes. Bare, delivery and https take a few seconds each, without the start
 * of broker and services.
 */
export const QUICK: Sizes = {
  bare: { warmUp: 5_000, count: 30_000 },
  delivery: { warmUp: 5_000, count: 25_000 },
  https: {
    bare: { warmUp: 5_000, count: 15_000 },
    busy: { warmUp: 5_000, count: 20_000 },
    ...SELDOM,
  },
  batches: { warmUp: 5_000, count: 20_000, ...BATCHES },
  singles: { warmUp: 2_000, count: 8_000, ...SINGLES },
  ledger: { settleSeconds: 25, seconds: 10, warmUp: 1_000, fullSpeed: 3_000 },
  load: { settleSeconds: 20, seconds: 10, warmUp: 3_000, rates: [50, 200, 500] },
  processes: {
    counts: [1, 2, 4],
    batches: { warmUp: 10_000, count: 20_000, ...BATCHES },
    singles: { warmUp: 4_000, count: 8_000, ...SINGLES },
  },
  rolling: { perSecond: 300, warmUpSeconds: 5, seconds: 5 },
  isolation: {
    ...WHOLE.isolation,
    seconds: 10,
    warmUpSeconds: 5,
    capacity: { warmUp: 2_000, count: 6_000, ...SINGLES },
  },
  waiting: { ...WHOLE.waiting, count: 20_000, perSecond: 100, seconds: 12 },
  early: { count: 5_000, perSecond: 100, warmUpSeconds: 10, seconds: 10 },
  hostile: { loadPercent: 30, perSecond: 50, capacitySeconds: 10, seconds: 10 },
  filters: { destinations: 3, warmUp: 5_000, count: 10_000, turns: 1 },
  usage: { ...WHOLE.usage, destinations: 2_000, busy: 200, warmUpSeconds: 10, seconds: 20 },
  soak: { ...WHOLE.soak, minutes: 6 },
};
