import { Checkpoints } from '../../../../services/audiences/profiles/checkpoints';

// A changelog of one partition that ends at 100 when the store is restored from it, and a manual
// clock.
function changelog() {
  const at = { high: 100, nowMs: 1_000_000 };
  const ranges = () => Promise.resolve([{ partition: 3, low: 0, high: at.high }]);
  const checkpoints = new Checkpoints({
    kafka: { ranges },
    partition: 3,
    next: 100,
    now: () => at.nowMs,
  });
  return {
    checkpoints,
    /** its own records */
    write: (records: number) => {
      at.high += records;
      checkpoints.wrote(records);
    },
    /** records that it does not know of */
    others: (records: number) => (at.high += records),
    after: async (seconds: number) => {
      at.nowMs += seconds * 1_000;
      return (await checkpoints.next())?.next;
    },
  };
}

test("a checkpoint covers the process's writes, every ten seconds if there are any", async () => {
  const { write, after } = changelog();
  expect(await after(60)).toBeUndefined();
  write(5);
  expect(await after(0)).toBe(105);
  write(2);
  expect(await after(9)).toBeUndefined();
  expect(await after(1)).toBe(107);
  expect(await after(60)).toBeUndefined();
});

test('a process that was frozen never claims the writes of its successor', async () => {
  // Given a process that was frozen while its successor wrote. No checkpoint is taken as long as
  // the process may not know of it.
  const { write, others, after } = changelog();
  write(5);
  others(3);
  expect(await after(60)).toBeUndefined();
  write(1);
  expect(await after(10)).toBeUndefined();
  expect(await after(10)).toBeUndefined();
});

test('a process that still owns its partition resumes at the end of the changelog', async () => {
  const { write, others, after } = changelog();
  write(5);
  others(3);
  expect(await after(10)).toBeUndefined();
  expect(await after(30)).toBe(108);
  write(1);
  expect(await after(10)).toBe(109);
  // A new doubt starts a new wait.
  write(1);
  others(1);
  expect(await after(10)).toBeUndefined();
});
