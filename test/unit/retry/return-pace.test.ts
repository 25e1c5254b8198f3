import { ReturnPace } from '../../../services/retry/return-pace';

/** The pace of returns from one partition of a tier, with a virtual clock. */

const TIER_MS = 10_000;
const TOPIC = 'webhooks.retry.10s';
const STEP_MS = 20;

/**
 * Returns when each record of the file returns, ms. @param appendedAt in the order of the file, ms
 */
async function returnsOf(
  appendedAt: number[],
  { topic = TOPIC, tierMs = TIER_MS, startMs = 0 } = {},
) {
  let counts = 0;
  const ranges = (_: string, sinceMs = 0) => {
    counts++;
    const low = appendedAt.findIndex((at) => at >= sinceMs);
    return Promise.resolve([
      { partition: 3, low: low < 0 ? appendedAt.length : low, high: appendedAt.length },
    ]);
  };
  let brokersMs = startMs;
  const pace = new ReturnPace({ ranges }, () => brokersMs);
  const returnedAt: number[] = [];
  let pausedUntil = 0;
  for (
    let nowMs = startMs;
    returnedAt.length < appendedAt.length && nowMs < 10_000_000;
    nowMs += STEP_MS
  ) {
    for (
      let offset = returnedAt.length;
      offset < appendedAt.length && nowMs >= pausedUntil;
      offset++
    ) {
      brokersMs = nowMs;
      if (appendedAt[offset]! + tierMs > nowMs) break;
      const waitMs = pace.waitMs({ topic, partition: 3, offset }, nowMs);
      if (waitMs > 0) pausedUntil = nowMs + waitMs;
      else returnedAt.push(nowMs);
    }
    // Counts arrive between two turns.
    for (let i = 0; i < 5; i++) await Promise.resolve();
  }
  return { returnedAt, counts, lateMs: returnedAt.map((at, i) => at - appendedAt[i]! - tierMs) };
}

/**
 * Returns the largest ratio of a second's returns to the mean of the ten seconds around it, for
 * seconds with enough.
 */
function steepest(returnedAt: number[]): number {
  const between = (from: number, to: number) =>
    returnedAt.filter((at) => at >= from && at < to).length;
  const seconds = Array.from(
    { length: Math.ceil((returnedAt.at(-1)! + 1) / 1_000) },
    (_, s) => s * 1_000,
  );
  return Math.max(
    ...seconds.map((at) => between(at, at + 1_000) / (between(at - 4_500, at + 5_500) / 10 || 1)),
  );
}

const crowd = (count: number, atMs: number, overMs = 0) =>
  Array.from({ length: count }, (_, i) => atMs + Math.floor((i * overMs) / count));

/** Sampling, and pauses of a partition. */
const SLACK_MS = 1_500;
const SPREAD_MS = 5_000;
/** Pauses end at different moments than seconds. */
const ROUNDING = 1.15;

test.each([
  ['at once', crowd(3_000, 1_000)],
  ['within half a second', crowd(3_000, 1_000, 500)],
  ['within four seconds', crowd(5_000, 1_000, 4_000)],
  ['in two moments', [...crowd(1_000, 1_000), ...crowd(4_000, 5_000)]],
  [
    'in the middle of a steady flow',
    [...crowd(1_000, 0, 20_000), ...crowd(3_000, 20_000), ...crowd(1_000, 20_001, 20_000)],
  ],
])(
  'a crowd that fell due %s returns without a step above twice its ten-second mean',
  async (_, appendedAt) => {
    const { returnedAt, lateMs } = await returnsOf(appendedAt);
    expect(returnedAt).toHaveLength(appendedAt.length);
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...lateMs)).toBeLessThanOrEqual(SPREAD_MS + SLACK_MS);
    expect(steepest(returnedAt)).toBeLessThanOrEqual(2 * ROUNDING);
  },
);

test('what fell due while the service was away returns evenly over ten seconds', async () => {
  const startMs = 3_600_000;
  const { returnedAt } = await returnsOf(crowd(6_000, 0, 3_000_000), { startMs });
  expect(returnedAt.at(-1)! - startMs).toBeLessThanOrEqual(2 * SPREAD_MS + SLACK_MS);
  expect(steepest(returnedAt.map((at) => at - startMs + 10_000))).toBeLessThanOrEqual(2 * ROUNDING);
});

test('a steady flow is late only while it begins, and a slow one is not even counted', async () => {
  const fast = await returnsOf(crowd(8_000, 0, 80_000));
  expect(Math.max(...fast.lateMs)).toBeLessThanOrEqual(SPREAD_MS);
  expect(Math.max(...fast.lateMs.slice(1_500))).toBeLessThan(600);
  const slow = await returnsOf(crowd(100, 0, 40_000));
  expect([Math.max(...slow.lateMs) < 1_000, slow.counts]).toEqual([true, 0]);
});

test.each([10, 100])(
  'a steady flow of %d a second is punctual six seconds after a restart of retry',
  async (rate) => {
    const [awayMs, settledMs] = [2_000, 6_000];
    const { returnedAt, lateMs } = await returnsOf(crowd(60 * rate, 0, 60_000), {
      startMs: TIER_MS + awayMs,
    });
    const settled = lateMs.filter((_, i) => returnedAt[i]! > TIER_MS + awayMs + settledMs);
    expect(Math.max(...settled)).toBeLessThan(600);
  },
);

test('the records of a short tier return at once', async () => {
  const { lateMs, counts } = await returnsOf(crowd(1_000, 0), {
    topic: 'webhooks.retry.1s',
    tierMs: 1_000,
  });
  expect([Math.max(...lateMs) < STEP_MS, counts]).toEqual([true, 0]);
});

test('without counts nothing is held back', async () => {
  const pace = new ReturnPace(
    { ranges: () => Promise.reject(new Error('Kafka is away')) },
    () => 0,
  );
  const place = { topic: TOPIC, partition: 0, offset: 0 };
  while (pace.waitMs(place, 0) === 0);
  for (let i = 0; i < 5; i++) await Promise.resolve();
  expect(Array.from({ length: 100 }, () => pace.waitMs(place, 1_000)).every((ms) => ms === 0)).toBe(
    true,
  );
});

test('while counts hang, nothing is held back after one spread', () => {
  const pace = new ReturnPace({ ranges: () => new Promise(() => undefined) }, () => 0);
  const place = { topic: TOPIC, partition: 0, offset: 0 };
  while (pace.waitMs(place, 0) === 0);
  const returned = () => range(1_000).filter(() => pace.waitMs(place, 5_100) === 0).length;
  expect(pace.waitMs(place, 100)).toBeGreaterThan(0);
  expect(returned()).toBeGreaterThan(990);
});

test('a clock that goes back an hour does not hold a partition back', () => {
  const pace = new ReturnPace({ ranges: () => Promise.resolve([]) }, () => 0);
  const place = { topic: TOPIC, partition: 0, offset: 0 };
  const hour = 3_600_000;
  pace.waitMs(place, hour);
  pace.waitMs(place, 0);
  expect(range(3).map((i) => pace.waitMs(place, i * 1_000))).toEqual([0, 0, 0]);
});

const range = (count: number) => Array.from({ length: count }, (_, i) => i);
