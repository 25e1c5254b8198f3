import { RecallPace } from '../../../services/retry/recall-pace';

/** How many deliveries leave at once, and when, by a clock that the test moves. */

/**
 * Takes so many deliveries, as a search does.
 * @param roundMs the time until Kafka has acknowledged a batch
 * @param most a second
 */
function leave(count: number, { roundMs = 5, most }: { roundMs?: number; most?: number } = {}) {
  const pace = new RecallPace(0, () => most);
  const batches: { atMs: number; taken: number }[] = [];
  let nowMs = 0;
  let left = count;
  while (left > 0) {
    const taken = pace.take(Math.min(left, 200), nowMs);
    if (taken > 0) batches.push({ atMs: nowMs, taken });
    left -= taken;
    nowMs += taken > 0 ? roundMs : pace.waitMs(Math.min(left, 200), nowMs);
  }
  const leftBy = (ms: number) =>
    batches.filter(({ atMs }) => atMs <= ms).reduce((sum, { taken }) => sum + taken, 0);
  return { batches, lastMs: batches.at(-1)?.atMs ?? 0, leftBy };
}

test('the first leaves at once, and few of them in the first half second', () => {
  const { batches, leftBy } = leave(100_000);
  expect(batches[0]).toEqual({ atMs: 0, taken: 1 });
  expect(leftBy(500)).toBeLessThan(10 * 2 ** 5);
});

test.each([5, 100])(
  'a hundred thousand leave within a minute, in few batches, if each takes %i ms',
  (roundMs) => {
    const { batches, lastMs } = leave(100_000, { roundMs });
    expect(lastMs).toBeLessThan(55_000);
    expect(batches.length).toBeLessThan(100_000 / 80);
  },
);

test('in no second after the ramp leave many more than 2,000', () => {
  const { leftBy } = leave(20_000);
  for (let ms = 2_000; ms < 8_000; ms += 100) {
    expect(leftBy(ms + 1_000) - leftBy(ms)).toBeLessThanOrEqual(2_000 + 200);
  }
});

test('after a standstill half a second of the rate leaves at once, and no more', () => {
  const pace = new RecallPace(0, () => undefined);
  pace.take(1, 0);
  expect(pace.take(5_000, 10_000)).toBe(1_000);
  expect(pace.take(5_000, 10_000)).toBe(0);
});

test('at a low rate each leaves alone, in its time', () => {
  const { batches } = leave(5, { most: 2 });
  expect(batches.map(({ taken }) => taken)).toEqual([1, 1, 1, 1, 1]);
  expect(batches.map(({ atMs }) => atMs)).toEqual([0, 500, 1_000, 1_500, 2_000]);
});

test('the last few do not wait for a whole batch', () => {
  const { lastMs } = leave(3, { most: 1_000 });
  expect(lastMs).toBeLessThan(500);
});
